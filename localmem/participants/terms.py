"""Words, values and keys by which claims and items are compared. Pure."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from localmem.types import Claim, Item, ItemKind

_STEM = 5
_BETWEEN = "\x1f"
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_INNER_NAME = re.compile(r"(?<=[\w,;:)] )[A-ZÀ-ÖØ-Þ][\w'’&-]*(?: [A-ZÀ-ÖØ-Þ][\w'’&-]*)*")
_NOT_NAMES_TEXT = """
    i i'm monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december ok tv
"""
_NOT_NAMES = frozenset(_NOT_NAMES_TEXT.split())
_LITTLE_TEXT = """
    a about after again all am an and any are as at be been being but by can cannot could did do
    does doing done down for from had has have having he her here hers him his how i if in into is
    it its just me more most my myself no nor not now of off on once only or other our out over own
    same she should so some such than that the their them then there these they this those through
    to too under until up very was we were what when where which while who why will with would you
    your really also still even much many lot lots got get go going went one thing things think
    know like want well good great because since
"""
_LITTLE = frozenset(_LITTLE_TEXT.split())
_ARTICLE = re.compile(r"\b(?:a|an|the|my|our|his|her|their)\b")
_CURRENCY = re.compile(r"[$€£]|\b(?:dollars?|euros?|pounds?|usd|eur|gbp)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_NUMBER_WORDS_TEXT = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {word: str(n) for n, word in enumerate(_NUMBER_WORDS_TEXT.split())}


def words_of(text: str) -> list[str]:
    """The words of a text as they are written."""
    return _WORD.findall(text)


@lru_cache(maxsize=8_192)  # a claim is compared with many items, an item with many claims
def stems_of(text: str) -> frozenset[str]:
    """The beginnings of a text's words that carry something; words with digits whole."""
    return frozenset(
        word if not word.isalpha() else word[:_STEM]
        for raw in _WORD.findall(text.lower())
        if (word := raw.replace("’", "'").removesuffix("'s")) not in _LITTLE and len(word) > 1
    )


def names_in(text: str) -> tuple[str, ...]:
    """Capitalised words inside a sentence, days and months left out, each once."""
    found = _INNER_NAME.findall(text)
    return tuple(dict.fromkeys(name for name in found if name.lower() not in _NOT_NAMES))


def normal_value(value: str) -> str:
    """A value by which two are compared: case, articles, currency, number words do not count."""
    text = _CURRENCY.sub(" ", _ARTICLE.sub(" ", value.casefold().replace("’", "'")))
    words = [_NUMBER_WORDS.get(word, word) for word in _THOUSANDS.sub("", text).split()]
    return " ".join(words).strip(" .,!")


def key_of(one: Item | Claim) -> str:
    """sha256 that names a version for the owner's orders; the participant stands beside it."""
    told = one.quote if one.kind is not ItemKind.ATTRIBUTE else normal_value(one.value)
    parts = (one.kind.value, one.slot, one.entity, told)
    return hashlib.sha256(_BETWEEN.join(parts).encode("utf-8", "surrogatepass")).hexdigest()
