"""Prompt texts: one <verb>_<noun>.md for each job, with the JSON schema of its reply beside it
where the reply is more than a line.

Prompt text lives here and nowhere else. A file holds the fixed instructions, then turns that
each begin with a line `--- user` or `--- assistant`: examples first, the request last. In the
request `{{name}}` stands for a value. Everything before the request never changes, so that an
engine can keep it evaluated.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from localmem.types import ChatMessage, Role

_TURN = re.compile(r"^--- (user|assistant)\n", re.MULTILINE)
_FIELD = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt as data.

    `fixed` are the instructions and the examples. `schema` describes a reply in JSON, None for a
    reply in plain words. `sha` is the provenance of what is made with the prompt.
    """

    name: str
    fixed: tuple[ChatMessage, ...]
    request: str
    schema: Mapping[str, Any] | None
    sha: str

    @property
    def text(self) -> str:
        """All words of the prompt but its values."""
        return "\n".join([*(message.content for message in self.fixed), self.request])

    def messages(self, **values: str) -> tuple[ChatMessage, ...]:
        """The prompt with its values filled in; fields inside a value stay as they are.

        Raises:
            KeyError: a value that the prompt names is missing.
        """
        filled = _FIELD.sub(lambda match: values[match.group(1)], self.request)
        return (*self.fixed, ChatMessage(Role.USER, filled))


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt of this name.

    Raises:
        FileNotFoundError: there is no such prompt.
        ValueError: it does not end in a request.
    """
    folder = resources.files(__package__)
    text = folder.joinpath(f"{name}.md").read_text(encoding="utf-8")
    schema_file = folder.joinpath(f"{name}.json")
    schema = schema_file.read_text(encoding="utf-8") if schema_file.is_file() else ""
    turns = _turns(text)
    if turns[-1].role is not Role.USER or len(turns) < 2:
        raise ValueError(f"the prompt {name} has no request as its last turn")
    return Prompt(
        name=name,
        fixed=tuple(turns[:-1]),
        request=turns[-1].content,
        schema=json.loads(schema) if schema else None,
        sha=hashlib.sha256(f"{text}\0{schema}".encode()).hexdigest(),
    )


def prompt_names() -> tuple[str, ...]:
    """The names of all prompts, sorted."""
    found = resources.files(__package__).iterdir()
    return tuple(sorted(one.name[:-3] for one in found if one.name.endswith(".md")))


def _turns(text: str) -> list[ChatMessage]:
    instructions, *rest = _TURN.split(text)
    pairs = zip(rest[::2], rest[1::2], strict=True)
    turns = [ChatMessage(Role(role), said.strip()) for role, said in pairs]
    return [ChatMessage(Role.SYSTEM, instructions.strip()), *turns]
