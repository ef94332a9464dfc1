"""Relative and absolute time expressions to intervals of days, by rule. Pure and fast.

This package reads no clock: a time comes in as an argument. It does no parsing of time stamps
(importers do that) and no search.
"""

from localmem.dates.language import LANGUAGES
from localmem.dates.resolver import resolve, resolve_question
from localmem.dates.wording import annotate, describe, describe_day, is_absolute

__all__ = [
    "LANGUAGES",
    "annotate",
    "describe",
    "describe_day",
    "is_absolute",
    "resolve",
    "resolve_question",
]
