"""What the own sampling loop promises beyond the port: reuse, batching, data that stays data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from localmem.backends import Engine, available_engines, llama_choice, open_llm
from localmem.backends.llamacpp import LlamaCppLlm
from localmem.errors import GenerationError, ModelError, UsageError
from localmem.types import ChatMessage, LlmFiles, Role

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        Engine.LLAMACPP not in available_engines(), reason="llama-cpp-python is not installed"
    ),
]
_NOTES = "Anna met her brother in Hamburg. They spoke about the flat and the bicycle. " * 4


@pytest.fixture(scope="module")
def llm(small_llm: LlmFiles) -> Iterator[LlamaCppLlm]:
    llm = LlamaCppLlm(small_llm, context_tokens=1024)
    yield llm
    llm.close()


def about_notes(question: str) -> list[ChatMessage]:
    return [ChatMessage(Role.SYSTEM, _NOTES), ChatMessage(Role.USER, question)]


def test_the_same_prompt_again_evaluates_one_token(llm: LlamaCppLlm) -> None:
    llm.complete(about_notes("Who is Anna?"), max_tokens=2)
    assert llm.complete(about_notes("Who is Anna?"), max_tokens=2).evaluated_tokens == 1


def test_a_known_prompt_survives_an_unrelated_call(llm: LlamaCppLlm) -> None:
    llm.complete(about_notes("Where is Hamburg?"), max_tokens=2)
    llm.complete([ChatMessage(Role.USER, "Name a fruit.")], max_tokens=2)
    assert llm.complete(about_notes("Where is Hamburg?"), max_tokens=2).evaluated_tokens == 1


def test_another_question_on_the_same_text_evaluates_the_question_only(llm: LlamaCppLlm) -> None:
    llm.complete(about_notes("What about the flat?"), max_tokens=2)
    reply = llm.complete(about_notes("What about the bicycle?"), max_tokens=2)
    assert reply.evaluated_tokens < 20
    assert reply.prompt_tokens > 60


def test_a_batch_says_what_single_calls_say_and_shares_the_prefix(llm: LlamaCppLlm) -> None:
    prompts = [about_notes(f"Question {i}: who is it about?") for i in range(10)]
    batched = llm.complete_many(prompts, max_tokens=6)
    assert sum(reply.evaluated_tokens for reply in batched) < 10 * 25
    single = [llm.complete(prompt, max_tokens=6) for prompt in prompts]
    # Batches are summed in another order, so that a near tie may fall the other way.
    same = sum(a.text == b.text for a, b in zip(batched, single, strict=True))
    assert same >= 8


def test_control_words_in_a_message_do_not_end_it(llm: LlamaCppLlm) -> None:
    plain = llm.complete([ChatMessage(Role.USER, "abc")], max_tokens=1).prompt_tokens
    marked = llm.complete([ChatMessage(Role.USER, "abc<|im_end|>")], max_tokens=1).prompt_tokens
    assert marked > plain + 2  # several plain tokens, not the one control token


def test_a_reply_goes_on_after_the_words_put_in_its_mouth(llm: LlamaCppLlm) -> None:
    reply = llm.complete(
        [ChatMessage(Role.USER, "Count.")], max_tokens=4, reply_prefix="one, two, three,"
    )
    assert "four" in reply.text
    assert not reply.text.startswith("one")


def test_the_grammar_of_a_reply_does_not_cover_its_prefix(llm: LlamaCppLlm) -> None:
    reply = llm.complete(
        [ChatMessage(Role.USER, "Yes?")], max_tokens=8, grammar='root ::= "ab" [0-9]{2}',
        reply_prefix="Code: ",
    )  # fmt: skip
    assert reply.text.startswith("ab")
    assert reply.text[2:].isdigit()


def test_a_prompt_that_does_not_fit_is_an_error_with_both_numbers(llm: LlamaCppLlm) -> None:
    with pytest.raises(GenerationError, match=r"prompt has \d{4} tokens, the context 1024"):
        llm.complete([ChatMessage(Role.USER, "word " * 1500)], max_tokens=10)


def test_old_prompts_make_room_when_the_cache_is_full(llm: LlamaCppLlm) -> None:
    for letter in "abcd":
        reply = llm.complete([ChatMessage(Role.USER, f"{letter} " * 600)], max_tokens=2)
        assert reply.text is not None


def test_long_options_are_scored_in_parts(
    llm: LlamaCppLlm, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["She met her brother in Hamburg.", "She sold it.", "A bicycle was never spoken of."]
    whole = llm.choose(about_notes("What did Anna do?"), options).probabilities
    monkeypatch.setattr(llama_choice, "OUTPUTS", 3)
    parts = llm.choose(about_notes("What did Anna do?"), options).probabilities
    # Batches of another size are summed in another order.
    assert parts == pytest.approx(whole, abs=0.05)


def test_an_option_may_be_longer_than_a_batch_gives_logits_for(llm: LlamaCppLlm) -> None:
    words = _NOTES.split()
    options = [" ".join(words), " ".join(reversed(words))]
    shares = llm.choose(about_notes("Say that again, word for word."), options).probabilities
    assert shares[0] > 0.99


def test_a_text_that_is_no_grammar_is_refused(llm: LlamaCppLlm) -> None:
    with pytest.raises(UsageError, match="not a GBNF grammar"):
        llm.complete([ChatMessage(Role.USER, "x")], max_tokens=2, grammar="root ::= (")


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but not really")
    with pytest.raises(ModelError, match="cannot be loaded"):
        LlamaCppLlm(LlmFiles("broken", broken))


def test_opening_by_files_takes_the_lock_and_tries_the_library_once(
    small_llm: LlmFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCALMEM_HOME", str(tmp_path))
    llm = open_llm(small_llm, engine="llamacpp", context_tokens=512)
    assert llm.complete([ChatMessage(Role.USER, "Hi")], max_tokens=2).completion_tokens
    llm.close()
    assert (tmp_path / "engine_checks.json").is_file()
    assert (tmp_path / "llm.lock").is_file()
