"""Messages -> the exact text that a model was trained on, by the template in its file. Pure.

The text comes in segments, so that an engine can tokenise a message's content as plain text: words
like <|im_end|> in somebody's chat must stay words and never end a message.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from localmem.errors import GenerationError
from localmem.types import ChatMessage, Role

_PLAIN_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_OPEN_THINKING = "<think>"
_CLOSE_THINKING = "\n</think>\n\n"


@dataclass(frozen=True, slots=True)
class PromptSegment:
    """A part of a prompt. `special`: control words in it are control tokens."""

    text: str
    special: bool


class ChatTemplate:
    """One model's chat template (Jinja, sandboxed), with thinking switched off."""

    def __init__(self, source: str | None, *, bos: str = "", eos: str = "") -> None:
        self._template = _compile(source or _PLAIN_TEMPLATE)
        self._bos, self._eos = bos, eos

    def segments(
        self, messages: Sequence[ChatMessage], *, reply_prefix: str = ""
    ) -> list[PromptSegment]:
        """The prompt up to where the model's reply goes on.

        Raises:
            GenerationError: no messages, or the template refuses them.
        """
        if not messages:
            raise GenerationError("a prompt needs at least one message")
        mark = secrets.token_hex(8)  # one that no content can hold by chance
        rendered = self._render(messages, mark)
        segments = _cut(rendered, [message.content for message in messages], mark)
        opened = segments[-1].text.rstrip().endswith(_OPEN_THINKING)
        if opened:
            segments.append(PromptSegment(_CLOSE_THINKING, special=True))
        if reply_prefix:
            segments.append(PromptSegment(reply_prefix, special=False))
        return segments

    def _render(self, messages: Sequence[ChatMessage], mark: str) -> str:
        from jinja2 import TemplateError

        marked = [
            {"role": _template_role(message.role), "content": f"{mark}:{number};"}
            for number, message in enumerate(messages)
        ]
        try:
            return self._rendered(marked)
        except TemplateError as error:
            if marked[0]["role"] != "system" or len(marked) < 2:
                raise GenerationError(f"the model's chat template failed: {error}") from error
        first, second, *rest = marked
        joined = {"role": "user", "content": f"{first['content']}\n\n{second['content']}"}
        try:
            return self._rendered([joined, *rest])
        except TemplateError as error:
            raise GenerationError(f"the model's chat template failed: {error}") from error

    def _rendered(self, messages: Sequence[dict[str, str]]) -> str:
        text: str = self._template.render(
            messages=messages,
            add_generation_prompt=True,
            enable_thinking=False,
            bos_token=self._bos,
            eos_token=self._eos,
            tools=None,
        )
        return text


def _template_role(role: Role) -> str:
    """Templates know three roles; a tool's words are shown to the model as the user's."""
    return Role.USER.value if role is Role.TOOL else role.value


def _compile(source: str) -> Any:
    from jinja2 import TemplateError
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = refuse
    # A date in the prompt would make equal prompts differ by the day they are run on.
    environment.globals["strftime_now"] = lambda _format: "1 Jan 2026"
    try:
        return environment.from_string(source)
    except TemplateError as error:
        raise GenerationError(f"the model's chat template cannot be read: {error}") from error


def _cut(rendered: str, contents: Sequence[str], mark: str) -> list[PromptSegment]:
    """The rendered text with each mark replaced by its content, as segments of their own."""
    segments: list[PromptSegment] = []
    head, *parts = rendered.split(f"{mark}:")
    if head:
        segments.append(PromptSegment(head, special=True))
    for part in parts:
        number, _, rest = part.partition(";")
        if contents[int(number)]:
            segments.append(PromptSegment(contents[int(number)], special=False))
        if rest:
            segments.append(PromptSegment(rest, special=True))
    return segments
