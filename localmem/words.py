"""Words of a text, in any script, as keyword search and its neighbours see them.

Pure: no files, no state beyond an `Analyser`'s own stemmers. It must not know what the words
are for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cached_property

DEFAULT_LANGUAGE = "en"

# Letters and digits of every script. Vowel signs and accents of scripts that write them as
# marks are not matched by \w, so their blocks are named (without the danda, U+0964-U+0965).
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c2\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u0900-\u0963\u0966-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f18-\u0f39\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3"
)
_LETTER = rf"(?:[^\W_]|[{_MARKS}])"
_WORD = re.compile(rf"\d+(?:[.,]\d+)+|{_LETTER}+(?:['’]{_LETTER}+)*")
_ASCII_WORD = re.compile(r"\d+(?:[.,]\d+)+|[a-z0-9]+(?:'[a-z0-9]+)*")

# Scripts written without spaces: their runs become overlapping pairs of characters.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
)
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_POSSESSIVE = re.compile(r"['’]s?$")
_THOUSANDS = re.compile(r"^\d{1,3}(?:,\d{3})+(?:\.\d+)?$")

_STOPWORDS_TEXT = {
    "en": """a about above after again against all am an and any are aren't as at be because been
        before being below between both but by can can't cannot could couldn't did didn't do does
        doesn't doing don't down during each few for from further had hadn't has hasn't have
        haven't having he her here hers herself him himself his how i i'd i'll i'm i've if in into
        is isn't it it's its itself just let's me more most my myself no nor not of off on once
        only or other our ours ourselves out over own same she should shouldn't so some such than
        that that's the their theirs them themselves then there there's these they they'd they'll
        they're they've this those through to too under until up us very was wasn't we we'd we'll
        we're we've were weren't what what's when where which while who whom whose why will with
        won't would wouldn't you you'd you'll you're you've your yours yourself yourselves""",
    "de": """aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem
        den der des die dies diese dieser doch du ein eine einem einen einer eines er es euch für
        habe haben hat hatte hier ich ihm ihn ihr ihre im in ist ja kann kein keine man mein meine
        mich mir mit nach nicht noch nur ob oder ohne sein seine sich sie sind so über um und uns
        unser unter vom von vor war waren was weil wenn wer wie wir wird wo zu zum zur""",
    "es": """a al algo como con cuando de del desde donde dos el ella ellas ellos en entre era eres
        es esa ese eso esta este esto está están fue ha hay he la las le les lo los me mi mis muy
        más ni no nos nosotros o para pero por porque que quién qué se ser si sin sobre son su sus
        sí también te tengo tiene tu tus un una uno y ya yo cuándo dónde cómo""",
    "fr": """à ai as au aux avec c'est ce ces cette d'un d'une dans de des du elle elles en es est
        et eu il ils j'ai je la le les leur lui ma mais me mes moi mon même ne nos notre nous on ou
        où par pas pour qu'est qu'il que qui sa se ses si son sont sur ta te tes toi ton tu un une
        vos votre vous y était été être avais avait quand quoi comment""",
    "it": """a ai al alla che chi ci come con cosa da dal dei del della delle di dove e ed era
        essere gli ha hai hanno ho i il in io la le lei lo loro lui ma mi mia mio ne nel nella noi
        non o per perché più quando quello questa questo se sei si sia sono su sua suo ti tu un una
        uno vi voi è""",
    "pt": """a ao aos as às com como da das de do dos e ela elas ele eles em entre era essa esse
        esta este eu foi há isso isto já mais mas me meu minha muito na nas no nos nossa nosso não
        o os ou para pela pelo por quando que quem se sem ser seu sua são também te tem um uma você
        é está onde""",
    "nl": """aan al als bij dan dat de deze die dit door een en er gaat had heb hebben heeft het
        hier hij hoe ik in is je kan maar me mijn naar niet nog of om ook op over te tot uit van
        veel voor waar wanneer was wat we wel werd wie wij zij zijn zo zou""",
}
_STEMMERS = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "pt": "portuguese",
    "nl": "dutch",
}


def words(text: str) -> list[str]:
    """The words of a text in order, case-folded (NFKC); unspaced scripts as character pairs.

    A number keeps its decimals and loses its thousands separators; a possessive ending goes.
    """
    if text.isascii():  # most text of most people; the same words in a third of the time
        plain = _ASCII_WORD.findall(text.lower())
        return plain if "," not in text else [part for word in plain for part in _numbers(word)]
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if _IS_UNSPACED.search(word):
            found.extend(_pairs(word))
        else:
            found.extend(_numbers(word.replace("’", "'")))
    return found


def stopwords(language: str) -> frozenset[str]:
    """The words of a language that carry no topic; empty for an unknown language."""
    return frozenset(_STOPWORDS_TEXT.get(language, "").split())


def languages() -> tuple[str, ...]:
    """The languages whose stopwords and stems are known."""
    return tuple(_STOPWORDS_TEXT)


def _numbers(word: str) -> list[str]:
    """A word as it is; of a number the thousands separators go, and other commas part it."""
    if "," not in word:
        return [word]
    return [word.replace(",", "")] if _THOUSANDS.match(word) else word.split(",")


def _pairs(word: str) -> Iterable[str]:
    for run in _UNSPACED_RUN.findall(word):
        if not _IS_UNSPACED.match(run) or len(run) == 1:
            yield run
        else:
            yield from (run[i : i + 2] for i in range(len(run) - 1))


class Analyser:
    """Turns text into search terms: stopwords dropped and stems taken where the language is known.

    Not safe for concurrent calls (the stemmers are not); make one for each owner.
    """

    @cached_property
    def _stopwords(self) -> dict[str, frozenset[str]]:
        return {language: stopwords(language) for language in _STOPWORDS_TEXT}

    @cached_property
    def _languages_of(self) -> dict[str, tuple[str, ...]]:
        """Each stopword with the languages that have it."""
        found: dict[str, tuple[str, ...]] = {}
        for language, stops in self._stopwords.items():
            for word in stops:
                found[word] = (*found.get(word, ()), language)
        return found

    @cached_property
    def _stem(self) -> dict[str, Callable[[list[str]], list[str]]]:
        import Stemmer

        return {code: Stemmer.Stemmer(name).stemWords for code, name in _STEMMERS.items()}

    def language(self, found_words: Iterable[str]) -> str:
        """The language with the most stopword hits; English unless another clearly leads."""
        hits = dict.fromkeys(_STOPWORDS_TEXT, 0)
        known = self._languages_of
        for word in filter(known.__contains__, found_words):
            for language in known[word]:
                hits[language] += 1
        best = max(hits, key=lambda code: hits[code])
        clear = hits[best] >= 2 and hits[best] > hits[DEFAULT_LANGUAGE]
        return best if clear else DEFAULT_LANGUAGE

    def terms(self, text: str) -> list[str]:
        """Search terms of a text in order, repeats kept; [] where it holds only stopwords."""
        found = words(text)
        language = self.language(found)
        stops, stem = self._stopwords[language], self._stem[language]
        kept = [word for word in found if word not in stops]
        return stem([word if word.isalnum() else _POSSESSIVE.sub("", word) for word in kept])
