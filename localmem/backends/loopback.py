"""Language models behind an OpenAI-compatible server here: llama-server, Ollama, LM Studio.

Only loopback addresses are accepted. Such servers differ in what they support, so what they cannot
do is said: a choice without log-probabilities is a written reply and `Choice.exact` is False.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from localmem.backends.gbnf import one_grammar
from localmem.backends.http_json import LocalAddress, LocalServer
from localmem.backends.reply import ReplyText
from localmem.errors import GenerationError, ModelError, UsageError
from localmem.ports import JsonSchema
from localmem.types import ChatMessage, Choice, Completion, Role

_AT_ONCE: Final = 4
_CHARACTERS_PER_TOKEN: Final = 3
"""A careful guess: counting low would overflow a context that nobody tells us about."""

_NO_USAGE: Final[Mapping[str, Any]] = {}
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class LoopbackLlm:
    """A model of a loopback server behind the Llm port.

    `url` is the server's base, with or without /v1. `model` "" takes the first that it offers.
    """

    def __init__(
        self, url: str, *, model: str = "", context_tokens: int = 4096, timeout_s: float = 600.0
    ) -> None:
        address = LocalAddress.parse(url.rstrip("/").removesuffix("/v1"))
        self._server = LocalServer(address, timeout_s=timeout_s)
        self._model = model or self._first_model(address)
        self._model_id = f"{self._model}@{address}"
        self._context_tokens = context_tokens
        self._is_ollama = self._answers_like_ollama()

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    def count_tokens(self, text: str) -> int:
        """An upper estimate: the protocol has no way to ask."""
        return math.ceil(len(text.encode("utf-8")) / _CHARACTERS_PER_TOKEN)

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        max_tokens: int,
        schema: JsonSchema | None = None,
        grammar: str | None = None,
        reply_prefix: str = "",
        on_token: Callable[[str], None] | None = None,
    ) -> Completion:
        """The model's reply. A `grammar` is only understood by llama-server; a schema by most."""
        one_grammar(schema, grammar)
        body = self._body(messages, max_tokens) | _constraint(schema, grammar)
        if reply_prefix:
            body["messages"].append({"role": "assistant", "content": reply_prefix})
        return self._streamed(body, reply_prefix, on_token)

    def complete_many(
        self,
        prompts: Sequence[Sequence[ChatMessage]],
        *,
        max_tokens: int,
        schema: JsonSchema | None = None,
        grammar: str | None = None,
        reply_prefixes: Sequence[str] = (),
        on_done: Callable[[int, Completion], None] | None = None,
        on_step: Callable[[], None] | None = None,
    ) -> list[Completion]:
        """Replies to several prompts, four requests at a time; batching is the server's affair."""
        if reply_prefixes and len(reply_prefixes) != len(prompts):
            raise UsageError(f"{len(reply_prefixes)} reply prefixes for {len(prompts)} prompts")
        prefixes = reply_prefixes or [""] * len(prompts)
        told = None if on_step is None else lambda piece: on_step()

        def one(pair: tuple[Sequence[ChatMessage], str]) -> Completion:
            prompt, prefix = pair
            if on_step is not None:
                on_step()
            return self.complete(
                prompt,
                max_tokens=max_tokens,
                schema=schema,
                grammar=grammar,
                reply_prefix=prefix,
                on_token=told,
            )

        done: list[Completion] = []
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for number, reply in enumerate(pool.map(one, zip(prompts, prefixes, strict=True))):
                done.append(reply)
                if on_done is not None:
                    on_done(number, reply)
        return done

    def choose(self, messages: Sequence[ChatMessage], options: Sequence[str]) -> Choice:
        """Probabilities of the options under one-letter labels, where the server tells them.

        Else the model writes one label under a JSON schema, and `exact` is False.
        """
        if not 2 <= len(options) <= len(_LETTERS):
            raise UsageError(f"a choice needs 2 to {len(_LETTERS)} options, got {len(options)}")
        labels = _LETTERS[: len(options)]
        listed = "\n".join(
            f"{label}: {option}" for label, option in zip(labels, options, strict=True)
        )
        asked = [
            *messages,
            ChatMessage(
                Role.USER, f"{listed}\nReply with one letter, {labels[0]} to {labels[-1]}."
            ),
        ]
        body = self._body(_joined(asked), 1) | {"logprobs": True, "top_logprobs": 20}
        told = _first_logprobs(self._server.post("/v1/chat/completions", body))
        weights = [told.get(label, 0.0) for label in labels]
        if sum(weights) > 0.0:
            return Choice(tuple(weight / sum(weights) for weight in weights), exact=True)
        return self._written_choice(_joined(asked), labels)

    def close(self) -> None:
        """Nothing is held between requests."""

    def _first_model(self, address: LocalAddress) -> str:
        offered = self._server.get("/v1/models").get("data") or []
        if not offered:
            raise ModelError(f"{address} offers no model", hint="load one there first")
        return str(offered[0]["id"])

    def _answers_like_ollama(self) -> bool:
        """Ollama starts to think unless told otherwise in a word that others may refuse."""
        try:
            return "version" in self._server.get("/api/version")
        except GenerationError:  # another server, which does not know this path
            return False

    def _body(self, messages: Sequence[ChatMessage], max_tokens: int) -> dict[str, Any]:
        quiet = {"reasoning_effort": "none"} if self._is_ollama else {}
        return {
            **quiet,
            "model": self._model,
            "messages": [
                {"role": "user" if m.role is Role.TOOL else m.role.value, "content": m.content}
                for m in messages
            ],
            "max_tokens": max_tokens,
            "temperature": 0,
            "chat_template_kwargs": {"enable_thinking": False},
        }

    def _streamed(
        self, body: Mapping[str, Any], prefix: str, on_token: Callable[[str], None] | None
    ) -> Completion:
        text, finish, usage, pieces = ReplyText(on_token), "", _NO_USAGE, 0
        whole: dict[str, Any] = {**body, "stream": True, "stream_options": {"include_usage": True}}
        for piece, ended, used in self._pieces(whole):
            # Some servers repeat the words that were put in the model's mouth.
            cut = piece.removeprefix(prefix) if prefix and pieces == 0 else piece
            text.feed(cut.encode())
            pieces += bool(piece)
            finish, usage = ended or finish, used or usage
        if not finish:
            raise GenerationError("the server ended its reply in the middle")
        prompt_tokens = int(usage.get("prompt_tokens", 0))
        cached = int((usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0))
        return Completion(
            text=text.finish(),
            prompt_tokens=prompt_tokens,
            evaluated_tokens=max(prompt_tokens - cached, 0),
            completion_tokens=int(usage.get("completion_tokens", pieces)),
            finished=finish != "length",
        )

    def _pieces(
        self, body: Mapping[str, Any]
    ) -> Iterator[tuple[str, str, Mapping[str, Any] | None]]:
        """(text, finish reason or "", usage or None) of each event of a streamed reply."""
        for event in self._server.stream("/v1/chat/completions", body):
            choices = event.get("choices") or [{}]
            delta = choices[0].get("delta") or {}
            yield (
                str(delta.get("content") or ""),
                str(choices[0].get("finish_reason") or ""),
                event.get("usage"),
            )

    def _written_choice(self, messages: Sequence[ChatMessage], labels: str) -> Choice:
        schema = {
            "type": "object",
            "properties": {"choice": {"type": "string", "enum": list(labels)}},
            "required": ["choice"],
        }
        reply = self.complete(messages, max_tokens=32, schema=schema)
        try:
            place = labels.index(json.loads(reply.text)["choice"])
        except (ValueError, KeyError, TypeError) as error:
            raise GenerationError(
                f"{self._model_id} wrote no choice: {reply.text[:100]!r}",
                hint="this server does not keep to a JSON schema; use llama-server or a file",
            ) from error
        return Choice(tuple(float(i == place) for i in range(len(labels))), exact=False)


def _constraint(schema: JsonSchema | None, grammar: str | None) -> dict[str, Any]:
    if schema is not None:
        wrapped = {"name": "reply", "strict": True, "schema": dict(schema)}
        return {"response_format": {"type": "json_schema", "json_schema": wrapped}}
    return {"grammar": grammar} if grammar is not None else {}


def _joined(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """The last two messages as one where both are the user's: some templates want turns."""
    *before, one, two = messages if len(messages) > 1 else [ChatMessage(Role.USER, ""), *messages]
    if one.role is Role.USER and two.role is Role.USER:
        content = f"{one.content}\n\n{two.content}".strip()
        return [*before, ChatMessage(Role.USER, content)]
    return [*before, one, two]


def _first_logprobs(answer: Mapping[str, Any]) -> dict[str, float]:
    """Probability by stripped token text at the reply's first place; {} if the server is silent."""
    choice = (answer.get("choices") or [{}])[0]
    places = (choice.get("logprobs") or {}).get("content") or []
    found: dict[str, float] = {}
    for one in places[0].get("top_logprobs", ()) if places else ():
        label = str(one["token"]).strip()
        found[label] = found.get(label, 0.0) + math.exp(float(one["logprob"]))
    return found
