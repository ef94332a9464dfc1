"""A self-test for language models: named verdicts on this machine, by rule, in about a minute.

Items and marks are data (models/selftest.toml). It judges what localmem needs of a model, not how
clever the model is.
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from localmem.errors import GenerationError
from localmem.types import ChatMessage, Role

if TYPE_CHECKING:
    from localmem.ports import Llm  # ports imports NumPy, which listing models does not need

_REPLY_TOKENS = 48
_SPEED_WORDS = "The quick brown fox jumps over the lazy dog near the river bank. "
_PREFILL_REPEATS = 20
_DECODE_TOKENS = 48


@dataclass(frozen=True, slots=True)
class AbilityItem:
    """One question; `right` is a place, words, or fields, as the test's kind wants it."""

    text: str
    right: Any = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AbilityTest:
    """One named ability: its items, and how many must be right."""

    name: str
    asks: str
    unlocks: str
    kind: str
    instruction: str
    mark: int
    items: tuple[AbilityItem, ...]
    context: str = ""
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AbilityVerdict:
    """How a model did in one test."""

    name: str
    passed: bool
    right: int
    items: int
    mark: int


@dataclass(frozen=True, slots=True)
class SelfTestResult:
    """All verdicts about one model on this machine, and its speed here in tokens per second."""

    model_id: str
    verdicts: tuple[AbilityVerdict, ...]
    prefill_tokens_per_s: float
    decode_tokens_per_s: float
    choices_exact: bool
    seconds: float

    def passed(self, name: str) -> bool:
        """Whether the ability with this name was shown."""
        return any(verdict.name == name and verdict.passed for verdict in self.verdicts)


def load_tests() -> tuple[AbilityTest, ...]:
    """The tests that ship with localmem."""
    shipped = resources.files("localmem_models").joinpath("selftest.toml")
    tree = tomllib.loads(shipped.read_text(encoding="utf-8"))
    return tuple(_test(table) for table in tree["test"])


def run_self_test(
    llm: Llm,
    tests: Sequence[AbilityTest] | None = None,
    *,
    on_progress: Callable[[int, int], None] | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> SelfTestResult:
    """Put every item to the model. A call that fails counts as a wrong item.

    `on_progress` gets the items done and the items in all.
    """
    chosen = load_tests() if tests is None else tuple(tests)
    total = sum(len(test.items) for test in chosen)
    started = monotonic()
    verdicts: list[AbilityVerdict] = []
    exact = True
    done = 0
    for test in chosen:
        right = 0
        for item in test.items:
            is_right, is_exact = _judged(llm, test, item)
            right += is_right
            exact = exact and is_exact
            done += 1
            if on_progress is not None:
                on_progress(done, total)
        verdicts.append(
            AbilityVerdict(test.name, right >= test.mark, right, len(test.items), test.mark)
        )
    prefill, decode = _speed(llm, monotonic)
    return SelfTestResult(
        llm.model_id, tuple(verdicts), prefill, decode, exact, monotonic() - started
    )


def result_to_json(result: SelfTestResult) -> str:
    """The result as JSON, for keeping."""
    from dataclasses import asdict

    return json.dumps(asdict(result), indent=1)


def result_from_json(text: str) -> SelfTestResult:
    """The result that `result_to_json` wrote.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    tree = json.loads(text)
    tree["verdicts"] = tuple(AbilityVerdict(**verdict) for verdict in tree["verdicts"])
    return SelfTestResult(**tree)


def _judged(llm: Llm, test: AbilityTest, item: AbilityItem) -> tuple[bool, bool]:
    """(right, exact) of one item; `exact` is False for a choice without log-probabilities."""
    messages = _messages(test, item)
    try:
        if test.kind == "choose":
            choice = llm.choose(messages, item.options)
            return choice.best == item.right, choice.exact
        schema = _schema(test.fields) if test.kind == "fields" else None
        reply = llm.complete(messages, max_tokens=_REPLY_TOKENS, schema=schema)
    except GenerationError:  # a model that cannot do it fails the item; that is the finding
        return False, True
    return _CHECKS[test.kind](reply.text, item), True


def _messages(test: AbilityTest, item: AbilityItem) -> list[ChatMessage]:
    text = f"{test.context.strip()}\n\nQuestion: {item.text}" if test.context else item.text
    return [ChatMessage(Role.SYSTEM, test.instruction), ChatMessage(Role.USER, text)]


def _has_fields(reply: str, item: AbilityItem) -> bool:
    try:
        fields = json.loads(reply)
    except ValueError:
        return False
    return isinstance(fields, Mapping) and all(
        wanted in str(fields.get(name, "")).casefold() for name, wanted in item.right.items()
    )


def _contains(reply: str, item: AbilityItem) -> bool:
    return any(word in reply.casefold() for word in item.right)


def _equals(reply: str, item: AbilityItem) -> bool:
    return reply.strip().strip('"').strip().casefold() == item.text.casefold()


_CHECKS: Mapping[str, Callable[[str, AbilityItem], bool]] = {
    "fields": _has_fields,
    "contains": _contains,
    "equals": _equals,
}


def _schema(fields: Sequence[str]) -> dict[str, Any]:
    properties = {name: {"type": "string", "maxLength": 40} for name in fields}
    return {"type": "object", "properties": properties, "required": list(fields)}


def _speed(llm: Llm, monotonic: Callable[[], float]) -> tuple[float, float]:
    """Tokens per second of reading a prompt, and of writing a reply."""
    # The clock in the prompt makes it new, so that nothing of it is in the engine's cache.
    text = f"{monotonic()} {_SPEED_WORDS * _PREFILL_REPEATS}\nTell this as a long story."
    prompt = [ChatMessage(Role.USER, text)]
    started = monotonic()
    first = llm.complete(prompt, max_tokens=1)
    read_at = monotonic()
    story = llm.complete(prompt, max_tokens=_DECODE_TOKENS)
    written_at = monotonic()
    return (
        first.evaluated_tokens / max(read_at - started, 1e-9),
        story.completion_tokens / max(written_at - read_at, 1e-9),
    )


def _test(table: Mapping[str, Any]) -> AbilityTest:
    return AbilityTest(
        name=table["name"],
        asks=table["asks"],
        unlocks=table["unlocks"],
        kind=table["kind"],
        instruction=table["instruction"],
        mark=table["mark"],
        context=table.get("context", ""),
        fields=tuple(table.get("fields", ())),
        items=tuple(
            AbilityItem(item["text"], item.get("right"), tuple(item.get("options", ())))
            for item in table["item"]
        ),
    )
