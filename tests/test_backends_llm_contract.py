"""What every language model must do, whichever engine runs it: one file for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from localmem.backends import Engine, available_engines
from localmem.backends.llamacpp import LlamaCppLlm
from localmem.backends.loopback import LoopbackLlm
from localmem.backends.process_lock import ProcessLock
from localmem.backends.xllama import XllamaLlm
from localmem.errors import GenerationError, PostponedError, UsageError
from localmem.ports import Llm
from localmem.testing import ScriptedLlm
from localmem.types import ChatMessage, LlmFiles, Role
from tests.scripted_server import ScriptedServer

_SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 12},
        "known": {"type": "boolean"},
    },
    "required": ["city", "known"],
}
_LETTER = 'root ::= "yes" | "no"'


def user(text: str) -> list[ChatMessage]:
    return [ChatMessage(Role.USER, text)]


def _scripted(_: pytest.FixtureRequest) -> Iterator[Llm]:
    def reply(call: object) -> str:
        if getattr(call, "schema", None):
            return '{"city": "Paris", "known": true}'
        return "yes" if getattr(call, "grammar", None) else "one two three four five six"

    yield ScriptedLlm([reply] * 60, fallback_choice=0)


def _loopback(_: pytest.FixtureRequest) -> Iterator[Llm]:
    with ScriptedServer() as server:
        yield LoopbackLlm(server.url)


def _in_process(kind: type[LlamaCppLlm] | type[XllamaLlm]) -> Callable[..., Iterator[Llm]]:
    def opened(request: pytest.FixtureRequest) -> Iterator[Llm]:
        engine = Engine.LLAMACPP if kind is LlamaCppLlm else Engine.XLLAMACPP
        if engine not in available_engines():
            pytest.skip(f"{engine} is not installed")
        files: LlmFiles = request.getfixturevalue("small_llm")
        folder: Path = request.getfixturevalue("tmp_path_factory").mktemp("lock")
        llm = kind(files, context_tokens=1024, lock=ProcessLock(folder / "llm.lock"))
        yield llm
        llm.close()

    return opened


_OPENERS = {
    "scripted": _scripted,
    "loopback": _loopback,
    "llamacpp": _in_process(LlamaCppLlm),
    "xllamacpp": _in_process(XllamaLlm),
}


@pytest.fixture(
    scope="module",
    params=[
        "scripted",
        "loopback",
        pytest.param("llamacpp", marks=pytest.mark.model),
        pytest.param("xllamacpp", marks=pytest.mark.model),
    ],
)
def llm(request: pytest.FixtureRequest) -> Iterator[Llm]:
    yield from _OPENERS[request.param](request)


def test_a_reply_has_text_and_counts(llm: Llm) -> None:
    reply = llm.complete(user("Say hello."), max_tokens=4)
    assert reply.text
    assert 1 <= reply.completion_tokens <= 4
    assert reply.prompt_tokens >= reply.evaluated_tokens >= 1


def test_the_same_prompt_gets_the_same_reply(llm: Llm) -> None:
    first = llm.complete(user("Name a colour."), max_tokens=6)
    assert llm.complete(user("Name a colour."), max_tokens=6).text == first.text


def test_a_reply_cut_by_max_tokens_is_not_finished(llm: Llm) -> None:
    reply = llm.complete(user("Tell a long story about a dog."), max_tokens=3)
    assert reply.completion_tokens == 3
    assert not reply.finished


def test_streamed_parts_together_are_the_reply(llm: Llm) -> None:
    parts: list[str] = []
    reply = llm.complete(user("Say something."), max_tokens=5, on_token=parts.append)
    assert "".join(parts) == reply.text


def test_a_schema_makes_valid_json(llm: Llm) -> None:
    reply = llm.complete(user("Paris as JSON: city, known."), max_tokens=40, schema=_SCHEMA)
    value = json.loads(reply.text)
    assert list(value) == ["city", "known"]
    assert isinstance(value["known"], bool)
    assert reply.finished


def test_a_grammar_is_kept_to(llm: Llm) -> None:
    reply = llm.complete(user("Is it raining? Explain at length."), max_tokens=8, grammar=_LETTER)
    assert reply.text in ("yes", "no")
    assert reply.finished


def test_schema_and_grammar_together_are_refused(llm: Llm) -> None:
    if isinstance(llm, ScriptedLlm):
        pytest.skip("a script takes what it is given")
    with pytest.raises(UsageError, match="not by both"):
        llm.complete(user("x"), max_tokens=4, schema=_SCHEMA, grammar=_LETTER)


def test_a_choice_is_a_distribution_over_the_options(llm: Llm) -> None:
    choice = llm.choose(user("Is Paris a city? Answer yes or no."), ["yes", "no", "no idea"])
    assert len(choice.probabilities) == 3
    assert sum(choice.probabilities) == pytest.approx(1.0)
    assert all(0.0 <= share <= 1.0 for share in choice.probabilities)


def test_the_order_of_the_options_does_not_matter(llm: Llm) -> None:
    if isinstance(llm, ScriptedLlm | LoopbackLlm):
        pytest.skip("a script chooses by place")
    question, options = user("Is Paris in France?"), ["Yes", "No", "Perhaps it is, my friend"]
    forwards = llm.choose(question, options).probabilities
    backwards = llm.choose(question, options[::-1]).probabilities
    # Engines sum attention in half precision, in the order of the cache's cells.
    assert forwards == pytest.approx(backwards[::-1], abs=0.05)
    assert forwards[2] < max(forwards)


def test_a_choice_needs_two_options(llm: Llm) -> None:
    with pytest.raises((UsageError, GenerationError)):
        llm.choose(user("x"), ["only"])


def test_many_replies_come_in_the_order_of_their_prompts(llm: Llm) -> None:
    told: list[int] = []
    prompts = [user(f"Question {i}: say a word.") for i in range(9)]
    replies = llm.complete_many(
        prompts, max_tokens=4, on_done=lambda number, reply: told.append(number)
    )
    assert len(replies) == 9
    assert sorted(told) == list(range(9))
    assert all(reply.text for reply in replies)


def test_many_replies_keep_to_a_schema_each(llm: Llm) -> None:
    prompts = [user(f"{city} as JSON.") for city in ("Rome", "Oslo")]
    for reply in llm.complete_many(prompts, max_tokens=40, schema=_SCHEMA):
        assert list(json.loads(reply.text)) == ["city", "known"]


def test_a_call_for_many_ends_where_its_caller_says_so(llm: Llm) -> None:
    steps: list[int] = []
    told: list[str] = []

    def step() -> None:
        steps.append(1)
        if len(steps) > 2:
            raise PostponedError("a question came")

    prompts = [user(f"Tell a long story about the number {i}.") for i in range(20)]
    with pytest.raises(PostponedError):
        llm.complete_many(
            prompts, max_tokens=30, on_done=lambda n, r: told.append(r.text), on_step=step
        )
    assert len(told) < 20
    assert llm.complete(user("Say hello."), max_tokens=4).text


def test_no_prompts_get_no_replies(llm: Llm) -> None:
    assert llm.complete_many([], max_tokens=4) == []


def test_tokens_are_counted(llm: Llm) -> None:
    assert llm.count_tokens("") == 0
    assert llm.count_tokens("one two three") >= 3
    assert llm.model_id
    assert llm.context_tokens > 0
