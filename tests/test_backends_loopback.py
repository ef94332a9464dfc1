"""A server on this machine as the language model: what is refused, and what is said."""

from __future__ import annotations

import pytest

from localmem.backends import open_llm
from localmem.backends.loopback import LoopbackLlm
from localmem.errors import GenerationError, ModelError, NetworkDeniedError, UsageError
from localmem.types import ChatMessage, Role
from tests.scripted_server import ScriptedServer


def user(text: str) -> list[ChatMessage]:
    return [ChatMessage(Role.USER, text)]


@pytest.mark.parametrize(
    "url", ["http://192.168.1.7:8080", "http://example.org/v1", "http://127.0.0.1.example.org"]
)
def test_another_machine_is_refused(url: str) -> None:
    with pytest.raises(NetworkDeniedError, match="not this machine"):
        LoopbackLlm(url)


def test_another_scheme_is_refused() -> None:
    with pytest.raises(UsageError):
        LoopbackLlm("ftp://127.0.0.1")


def test_nobody_listening_is_said() -> None:
    with pytest.raises(ModelError, match="nothing listens"):
        LoopbackLlm("http://127.0.0.1:9")


def test_the_first_model_offered_is_taken() -> None:
    with ScriptedServer() as server:
        assert open_llm(server.url).model_id.startswith("tiny@http://127.0.0.1")


def test_an_address_may_name_its_model() -> None:
    with ScriptedServer() as server:
        llm = open_llm(f"{server.url}#other:1b")
        llm.complete(user("x"), max_tokens=2)
        assert server.requests[0]["model"] == "other:1b"


def test_thinking_is_switched_off_and_temperature_is_zero() -> None:
    with ScriptedServer() as server:
        LoopbackLlm(server.url).complete(user("x"), max_tokens=2)
        assert server.requests[0]["temperature"] == 0
        assert server.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}


def test_ollama_is_told_in_its_own_word_not_to_think() -> None:
    with ScriptedServer(ollama=True) as server:
        LoopbackLlm(server.url).complete(user("x"), max_tokens=2)
        assert server.requests[0]["reasoning_effort"] == "none"
    with ScriptedServer() as server:
        LoopbackLlm(server.url).complete(user("x"), max_tokens=2)
        assert "reasoning_effort" not in server.requests[0]


def test_a_choice_without_log_probabilities_is_not_exact() -> None:
    with ScriptedServer(logprobs=False) as server:
        choice = LoopbackLlm(server.url).choose(user("Is it?"), ["yes", "no"])
    assert not choice.exact
    assert choice.probabilities == (1.0, 0.0)


def test_a_choice_with_log_probabilities_is_exact() -> None:
    with ScriptedServer() as server:
        choice = LoopbackLlm(server.url).choose(user("Is it?"), ["yes", "no"])
    assert choice.exact
    assert choice.best == 0


def test_a_server_that_ignores_the_schema_of_a_choice_is_an_error() -> None:
    with (
        ScriptedServer(logprobs=False, json_reply="I would say A") as server,
        pytest.raises(GenerationError, match="wrote no choice"),
    ):
        LoopbackLlm(server.url).choose(user("Is it?"), ["yes", "no"])


def test_a_server_error_is_reported_in_its_words() -> None:
    with ScriptedServer() as server, pytest.raises(GenerationError, match="500"):
        LoopbackLlm(server.url).complete(user("break"), max_tokens=2)
