"""The sample history through the importer: what a person who imports it gets to see."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from localmem.importers import open_export
from localmem.sample import sample_export
from localmem.types import ImportedConversation, ImportedMessage, Role

_ZONE = ZoneInfo("Europe/Berlin")
_QUESTIONS = Path(__file__).with_name("sample_questions.json")


def _conversations() -> list[ImportedConversation]:
    read = list(open_export(sample_export(), tz=_ZONE))
    conversations = [one for one in read if isinstance(one, ImportedConversation)]
    assert conversations == read, "the sample has no problems"
    return conversations


def _messages() -> list[ImportedMessage]:
    return [message for one in _conversations() for message in one.messages]


def test_the_sample_is_recognised_and_every_conversation_goes_in() -> None:
    assert open_export(sample_export(), tz=_ZONE).source == "chatgpt"
    assert len(_conversations()) == 48


def test_answers_that_were_generated_again_are_stored_but_not_shown() -> None:
    off_path = [m for m in _messages() if not m.on_path]
    assert any("Use more coffee" in m.text for m in off_path)
    assert any("Something Swedish maybe?" in m.text for m in off_path)
    assert len(off_path) == 5


def test_hidden_text_of_the_sample_is_no_message() -> None:
    texts = [m.text for m in _messages()]
    assert not any("Keep answers short" in text for text in texts)
    assert not any("Use lag over meter_id" in text for text in texts)
    assert all(text.strip() for text in texts)


def test_code_and_its_result_are_kept_with_their_roles() -> None:
    messages = _messages()
    assert any(m.role is Role.ASSISTANT and "coverage = 7.0" in m.text for m in messages)
    assert any(m.role is Role.TOOL and m.text == "126 36.0 2.4" for m in messages)
    assert any("wall_samples.jpg" in m.attachment_text for m in messages)


def test_every_message_falls_on_the_day_on_which_it_was_said() -> None:
    days = {m.text: m.said_at.date() for m in _messages() if m.said_at}
    assert len(days) == len({m.text for m in _messages()})
    (marathon,) = [day for text, day in days.items() if text.startswith("I HAVE RUN A MARATHON")]
    (lucia,) = [day for text, day in days.items() if text.startswith("36 baked, 36 eaten")]
    assert marathon == date(2026, 4, 27)
    assert lucia == date(2025, 12, 12)


def test_gold_messages_keep_their_ids_through_the_importer() -> None:
    by_id = {(one.source_id, m.source_id): m for one in _conversations() for m in one.messages}
    cases = json.loads(_QUESTIONS.read_text(encoding="utf-8"))["questions"]
    for gold in (gold for case in cases for gold in case["gold"]):
        message = by_id[gold["conversation"], gold["message"]]
        assert message.on_path
        assert gold["quote"] in message.text
