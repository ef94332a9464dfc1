"""The shipped sample: shaped like a real export, and the questions about it point at real words."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from localmem.sample import asked_at, questions, sample_export

_QUESTIONS = Path(__file__).with_name("sample_questions.json")


def _conversations() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads(sample_export().read_text(encoding="utf-8"))
    return loaded


def _shown(conversation: dict[str, Any]) -> list[str]:
    """Ids of the nodes from the root to the current node."""
    path: list[str] = []
    node: str | None = conversation["current_node"]
    while node is not None:
        path.append(node)
        node = conversation["mapping"][node]["parent"]
    return path[::-1]


def _text(node: dict[str, Any]) -> str:
    content = node["message"]["content"]
    parts = [part for part in content.get("parts", []) if isinstance(part, str)]
    return "\n".join([*parts, content.get("text", "")]).strip()


def _cases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads(_QUESTIONS.read_text(encoding="utf-8"))["questions"]
    return cases


def test_the_sample_covers_a_year_in_more_than_thirty_conversations() -> None:
    starts = sorted(c["create_time"] for c in _conversations())
    assert len(starts) >= 36
    assert datetime.fromtimestamp(starts[0], UTC).strftime("%Y-%m") == "2025-10"
    assert datetime.fromtimestamp(starts[-1], UTC).strftime("%Y-%m") == "2026-10"


def test_every_conversation_of_the_sample_is_a_whole_tree() -> None:
    for conversation in _conversations():
        mapping = conversation["mapping"]
        assert conversation["current_node"] in mapping
        for node_id, node in mapping.items():
            assert node["id"] == node_id
            assert all(mapping[child]["parent"] == node_id for child in node["children"])
            assert node["parent"] is None or node_id in mapping[node["parent"]]["children"]


def test_times_never_run_backwards_along_the_shown_path() -> None:
    for conversation in _conversations():
        nodes = [conversation["mapping"][n]["message"] for n in _shown(conversation)]
        times = [m["create_time"] for m in nodes if m and m["create_time"]]
        assert times == sorted(times)
        assert len(times) >= 4


def test_the_sample_holds_what_real_exports_hold() -> None:
    mappings = [c["mapping"] for c in _conversations()]
    messages = [n["message"] for m in mappings for n in m.values() if n["message"]]
    kinds = {m["content"]["content_type"] for m in messages}
    assert kinds >= {
        "text",
        "code",
        "execution_output",
        "multimodal_text",
        "thoughts",
        "user_editable_context",
    }
    assert {m["author"]["role"] for m in messages} == {"system", "user", "assistant", "tool"}
    branches = [n for m in mappings for n in m.values() if len(n["children"]) > 1]
    assert len(branches) >= 4


def test_the_sample_has_no_blank_message_that_a_reader_would_see() -> None:
    for conversation in _conversations():
        for node_id in _shown(conversation):
            node = conversation["mapping"][node_id]
            if node["message"] and node["message"]["weight"] and node["message"]["create_time"]:
                assert _text(node) or node["message"]["content"]["content_type"] == "thoughts"


def test_gold_messages_are_shown_and_hold_the_quoted_words() -> None:
    by_id = {c["id"]: c for c in _conversations()}
    for case in _cases():
        for gold in case["gold"]:
            conversation = by_id[gold["conversation"]]
            assert gold["message"] in _shown(conversation), case["id"]
            assert gold["quote"] in _text(conversation["mapping"][gold["message"]]), case["id"]


def test_questions_are_many_kinds_and_some_have_no_answer() -> None:
    cases = _cases()
    assert len({case["id"] for case in cases}) == len(cases) >= 25
    unanswerable = [case for case in cases if case["kind"] == "unanswerable"]
    assert len(unanswerable) >= 4
    assert all(not case["gold"] and not case["answers"] for case in unanswerable)
    assert all(case["gold"] and case["answers"] for case in cases if case not in unanswerable)


def test_the_demo_asks_three_questions_of_the_list_after_the_last_message() -> None:
    asked = [case["question"] for case in _cases()]
    assert len(questions()) == 3
    assert all(question in asked for question in questions())
    newest = max(c["update_time"] for c in _conversations())
    assert asked_at().timestamp() > newest
