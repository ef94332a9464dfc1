"""The self-test of language models: who passes, who fails, what is kept."""

from __future__ import annotations

import itertools
import json

import pytest

from localmem.backends import open_llm
from localmem.errors import GenerationError
from localmem.modelstore import result_from_json, result_to_json, run_self_test
from localmem.modelstore.selftest import load_tests
from localmem.testing import LlmCall, ScriptedLlm
from localmem.types import LlmFiles


def _knows_everything() -> ScriptedLlm:
    tests = load_tests()
    answers = {item.text: (test, item) for test in tests for item in test.items}

    def reply(call: LlmCall) -> str:
        for text, (test, item) in answers.items():
            if text in call.text:
                if test.kind == "fields":
                    return json.dumps(item.right)
                return item.text if test.kind == "equals" else f"It is {item.right[0]}."
        return "a b c"

    right = [item.right for test in tests if test.kind == "choose" for item in test.items]
    return ScriptedLlm(itertools.repeat(reply, 40), choices=right)


def test_a_model_that_knows_everything_passes_everything() -> None:
    result = run_self_test(_knows_everything())
    assert [verdict.name for verdict in result.verdicts if not verdict.passed] == []
    assert result.passed("json")
    assert result.choices_exact


def test_a_model_that_always_says_the_same_fails_everything() -> None:
    llm = ScriptedLlm(fallback_reply="Sure!", fallback_choice=1)
    result = run_self_test(llm)
    assert not any(result.passed(name) for name in ("json", "copy", "whole_session"))


def test_a_failing_call_is_a_wrong_item_not_an_end() -> None:
    tests = [test for test in load_tests() if test.name == "copy"]
    llm = ScriptedLlm([GenerationError("broken")] * 4, fallback_reply="x y")
    assert run_self_test(llm, tests).verdicts[0].right == 0


def test_the_result_survives_being_kept() -> None:
    result = run_self_test(_knows_everything())
    assert result_from_json(result_to_json(result)) == result


def test_progress_counts_all_items() -> None:
    told: list[tuple[int, int]] = []
    run_self_test(_knows_everything(), on_progress=lambda done, total: told.append((done, total)))
    total = sum(len(test.items) for test in load_tests())
    assert told[-1] == (total, total)


def test_no_test_is_passed_by_always_choosing_the_same_place() -> None:
    for test in load_tests():
        if test.kind == "choose":
            rights = [item.right for item in test.items]
            assert max(rights.count(0), rights.count(1)) < test.mark, test.name


@pytest.mark.model
def test_the_default_model_is_judged(small_llm: LlmFiles) -> None:
    llm = open_llm(small_llm, context_tokens=2048)
    result = run_self_test(llm, [test for test in load_tests() if test.name == "choice"])
    llm.close()
    assert result.verdicts[0].items == 6
    assert result.decode_tokens_per_s > 0
