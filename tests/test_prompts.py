"""Prompt files are data: they load, and what is filled in stays what it was."""

from __future__ import annotations

import pytest

from localmem.prompts import load_prompt, prompt_names
from localmem.types import Role


@pytest.mark.parametrize("name", prompt_names())
def test_every_prompt_has_instructions_and_a_request(name: str) -> None:
    prompt = load_prompt(name)
    assert prompt.fixed[0].role is Role.SYSTEM and prompt.fixed[0].content
    assert "{{" in prompt.request
    assert len(prompt.sha) == 64


def test_examples_alternate_between_user_and_assistant() -> None:
    roles = [message.role for message in load_prompt("answer_question").fixed[1:]]
    assert roles == [Role.USER, Role.ASSISTANT] * (len(roles) // 2)


def test_values_are_filled_into_the_request_only() -> None:
    messages = load_prompt("answer_question").messages(memory="M", question="Q?")
    assert messages[:-1] == load_prompt("answer_question").fixed
    assert "M" in messages[-1].content and "Q?" in messages[-1].content


def test_fields_inside_a_value_are_not_filled_again() -> None:
    messages = load_prompt("answer_question").messages(memory="{{question}}", question="Q?")
    assert messages[-1].content.startswith("{{question}}")


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        load_prompt("answer_question").messages(memory="M")
