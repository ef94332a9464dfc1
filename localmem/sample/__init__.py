"""The sample history: an invented person's year of chats, to try localmem on.

The person, the people around her, all numbers and all addresses are made up; README.md beside
this file says more. This module only says where the export lies and what to ask it.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

_SUMMER_TIME = timezone(timedelta(hours=2))


def sample_export() -> Path:
    """The export, in the shape of ChatGPT's conversations.json."""
    return Path(__file__).with_name("conversations.json")


def questions() -> tuple[str, ...]:
    """Three questions that the history answers: a number, a relative date, a changed plan."""
    return (
        "What was my bib number for the Elbtal Marathon?",
        "When did I pick Tofu up from the shelter?",
        "On which day did I really start at Hollerbusch?",
    )


def asked_at() -> datetime:
    """The moment at which the questions are asked, two days after the last message."""
    return datetime(2026, 10, 20, 12, 0, tzinfo=_SUMMER_TIME)
