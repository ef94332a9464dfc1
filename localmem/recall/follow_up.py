"""A question that leans on the one before it, made to stand alone. Pure; by rule, four languages.

"And how old was he?" finds nothing by itself. What it is about stands in the question before, so
its telling words are put behind it; a question without a question word of its own ("And Ana?")
is put behind the whole of the one before. A question that leans on nothing stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_MOST_WORDS = 12
_TELLING = 3
"""A question with so many telling words of its own stands alone, whatever else it says."""


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


QUESTION_WORDS = _set_of(
    "who what when where why how which whose whom wer was wann wo warum wie welche welcher welches "
    "wieviel quién qué cuándo dónde cómo cuál cuánto cuántos qui quoi quand où pourquoi comment "
    "quel quelle combien"
)
_ASKING = QUESTION_WORDS | _set_of(
    "much many long old far often viele viel lange did do does is are was were will would can "
    "could should have has had habe hat hatte bin ist war"
)
_LEANING = _set_of(
    "it its that this these those there then he she him her his hers they them their one ones "
    "dann dort das dies er sie es ihn ihm ihr sein seine eso esa ese allí entonces él ella ello "
    "ellos su sus cela ça ce cette là alors il elle lui ils elles son sa ses"
)
_OPENING = re.compile(
    r"^(?:and|but|so|or|also|what about|how about|und|aber|also|oder|y|pero|et|mais|ou)\b[\s,]*",
    re.IGNORECASE,
)
_LITTLE = _set_of(
    "a an the i me my we our you your to of in on at for from with by and or but up out about as "
    "der die das ein eine ich mein meine mir mich du zu von im in am an für mit und el la los las "
    "un una yo mi mis de en por para con y le les une je mon ma mes des dans pour avec et"
)
_ABOUT = re.compile(r"\s*\(about: ([^()]*)\)$")
_WORD = re.compile(r"[\w'’-]+")


def standalone(question: str, earlier: Sequence[str]) -> str:
    """The question with what it leans on; `earlier` are the questions before it, oldest first."""
    if not earlier or not _leans(question):
        return question
    before = earlier[-1]
    own = _words(_OPENING.sub("", question))
    if not any(word in QUESTION_WORDS for word in own):
        return f"{_ABOUT.sub('', before)} {question}"
    about = _about(before)
    return f"{question} (about: {about})" if about else question


def _leans(question: str) -> bool:
    telling = len(_telling(question))
    points = bool(_OPENING.match(question)) or any(word in _LEANING for word in _words(question))
    return telling == 0 or (points and telling < _TELLING)


def _about(question: str) -> str:
    """The telling words of a question, and of what it leans on itself."""
    inherited = _ABOUT.search(question)
    own = _ABOUT.sub("", question)
    words = [*_WORD.findall(own), *(inherited[1].split() if inherited else ())]
    return " ".join(_telling(" ".join(words))[:_MOST_WORDS])


def _telling(text: str) -> list[str]:
    """The words that say what it is about, each once."""
    little = _ASKING | _LITTLE | _LEANING
    found = (word for word in _WORD.findall(text) if word.lower() not in little)
    return list(dict.fromkeys(found))


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
