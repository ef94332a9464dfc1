"""Names, keywords and other surface features of a text, by rule. Pure and cheap.

It knows no memory and no model: what is a participant or a rare word comes in as an argument.
Nothing here resolves dates; see `localmem.dates`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache

from localmem import words
from localmem.types import AnswerType

_UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆČĎĐĒĘĚĞĢĪĮİĶĹĽŁŃŇŌŐŒŔŘŚŞŠŢŤŪŮŰŲŹŻŽΑ-ΩА-ЯЁІЇЄ"
_CAPITALISED = rf"[{_UPPER}][\w’'&-]*"
_CONNECTOR = r"(?:of|the|de|la|du|der|von|van|and|&|for|to|in)"
_NAME_RUN = re.compile(
    rf"(?<![\w’'-]){_CAPITALISED}(?:(?: {_CONNECTOR}){{0,2}} {_CAPITALISED}){{0,5}}"
)
_BARE_CONNECTOR = re.compile(r"(?<!of) (?:and|&|for|to|in)(?: the)? ")
_SENTENCE_OPENERS = '.!?:;…\n"“”*#>•(-–'
_START_REACH = 4
_QUOTED = re.compile(r"[\"“«]([^\"“”«»\n]{2,60})[\"”»]")
_PRODUCT = re.compile(r"\b[^\W\d_]+-?\d[\w-]*\b")
_DIGIT = re.compile(r"\d")
_NUMBER_WITH_UNIT = re.compile(
    r"[$€£]\s?\d[\d.,]*\d?(?:\s?(?:k|m|bn|million|billion))?\b|\b\d[\d.,]*\s?(?:%|[^\W\d_]{1,12}\b)"
)
_HAN = "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CASED = re.compile(rf"[a-zß-ÿа-яα-ω{_UPPER}]")
_UNCASED = re.compile("[\u0590-\u10ff\u1200-\u1c7f\u3041-\u9fff\uac00-\ud7af]")
_UPPER_LETTER = re.compile(f"[{_UPPER}]")
_SHORT_SHOUT = 12
_HIRAGANA = "\u3041-\u309f"
_HAN_OR_THAI = re.compile(rf"[{_HAN}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_SCRIPT_RUN = re.compile(rf"[{_HAN}]{{2,}}|[^\W_{_HAN}{_HIRAGANA}]{{2,}}")
_POSSESSIVE = re.compile(r"['’]s?$")
_CLAUSE_BREAK = re.compile(r"(?:[^\w\s'-]|(?<!\w)['-]|['-](?!\w)|_)+")
_SHORTEST_WORD = 2
_PLAINLY_ENGLISH = 4  # a quarter of the different words are English stopwords
_LONG_WORD = 9
_UNSEEN_IDF = 12.0
_LENGTH_BONUS = 0.1
_REPEAT_BONUS = 0.2
_MARK_BONUS = 1.5  # idf x (1 + 0.5) for a name or a digit
_LONGEST_RUN = 3
_LONGEST_UNSPACED = 4
_NAME_OPENERS = frozenset({"new", "great", "best", "big"})
_UNCASED_ENTITIES = 3
_MOST_QUOTED_WORDS = 8
_NOT_NAMES_TEXT = """
    i i'm i've i'll i'd ok okay yes no hi hey hello thanks thank wow oh yeah yep lol omg am pm
    mr mrs ms dr monday tuesday wednesday thursday friday saturday sunday january february march
    april may june july august september october november december christmas easter today
    yesterday tomorrow congrats congratulations bye please sorry last next ago week weeks weekend
    month months year years day days tonight
"""
_NOT_NAMES = frozenset(_NOT_NAMES_TEXT.split())
_LITTLE_TEXT = """
    really very just like get got going go went good great nice well know think thing things
    lot much many also even still sure yeah hey hi hello wow oh thanks thank let make made one
    want need say said see way back something anything everything someone time take us you're
    it's that's i'm don't can't i've i'll didn't doesn't awesome amazing cool okay ok please
    definitely actually maybe pretty bit kind sounds glad yes no lol haha gonna always never
    would could should may might will shall best better new able keep sorry now today here
    there since though yet around every looks look feel hope love recently lately
"""
_LITTLE = frozenset(_LITTLE_TEXT.split())


def entities(text: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """Names, quoted titles, product-like tokens and known aliases, in order, each once.

    Surfaces are kept as first written; two are the same where they fold to one case. A single
    capitalised word that opens a sentence counts only where it is also capitalised elsewhere or
    known. A text of a script without capitals gives its three longest content words.
    """
    if not _has_cases(text):
        return _longest_words(text)
    found = _names(text, known)
    others = [*_quoted(text), *(_PRODUCT.findall(text) if _DIGIT.search(text) else ())]
    others += [alias for alias in known if _whole_word(alias, text)]
    return _distinct(sorted([*found, *others], key=text.find) if others else found)


def keywords(text: str, idf: Mapping[str, float] | None = None, limit: int = 8) -> tuple[str, ...]:
    """The most telling names, numbers and short runs of content words, best first.

    `idf` maps case-folded words to their weight (natural logarithm); a word that it lacks counts
    as very rare. Without `idf` longer words count as rarer. Fewer than `limit` where the text has
    fewer.
    """
    names = entities(text)
    has_digits = _DIGIT.search(text) is not None
    candidates = _keyword_candidates(text, names, has_digits)
    keys = [key for key, _ in candidates]
    repeats = Counter(keys) if len(set(keys)) < len(keys) else {}
    ranked = []
    for place, (key, surface) in enumerate(candidates):
        weight = _rarity(key, idf)
        if place < len(names) or (has_digits and _DIGIT.search(surface)):
            weight *= _MARK_BONUS
        if repeats:
            weight *= 1.0 + _REPEAT_BONUS * (repeats[key] - 1)
        ranked.append((-weight, place, key, surface))
    ranked.sort()
    return _without_overlap(ranked, limit)


def _rarity(phrase: str, idf: Mapping[str, float] | None) -> float:
    """Mean rarity of a phrase's words, a little more for a longer phrase."""
    spaces = phrase.count(" ")
    if idf is None:
        mean = min((len(phrase) - spaces) / (spaces + 1), _LONG_WORD)
    else:
        mean = sum(idf.get(part, _UNSEEN_IDF) for part in phrase.split()) / (spaces + 1)
    return mean * (1.0 + _LENGTH_BONUS * spaces)


def content_words(text: str) -> tuple[str, ...]:
    """Words that carry a topic, case-folded, in order, repeats kept."""
    found = words.words(text)
    skip = _stopwords(_language_of(found))
    return tuple(word for word in found if word not in skip)


def named_participants(question: str, names: Collection[str]) -> tuple[str, ...]:
    """Which of the names the question names, as whole words and with any possessive removed.

    A name of several words is also named by its first one where no other name starts with it.
    A name that is part of a longer one is not named by that: "Sam Okoro" is not Sam.
    Capitals count, unless the question has none: "will" is not Will.
    """
    any_case = question.islower()
    text = question.casefold() if any_case else question
    firsts = Counter(name.split()[0] for name in names if name.strip())
    forms: dict[str, set[str]] = {}
    for name in names:
        first = name.split()[0] if name.strip() else ""
        for form in {name, first} if firsts[first] == 1 else {name} if first else ():
            forms.setdefault(form.casefold() if any_case else form, set()).add(name)
    named: set[str] = set()
    for form in sorted(forms, key=lambda one: (-len(one), one)):
        if _whole_word(form, text):
            named |= forms[form]
            text = _without_word(form, text)
    return tuple(name for name in names if name in named)


def expected_answer_type(question: str) -> AnswerType:
    """What kind of answer the question asks for; OTHER where its words do not tell."""
    lowered = question.casefold().replace("’", "'").strip()
    for kind, pattern in _question_patterns():
        if pattern.search(lowered):
            return kind
    return AnswerType.OTHER


@cache
def _question_patterns() -> tuple[tuple[AnswerType, re.Pattern[str]], ...]:
    """Tried in order; the first that matches decides."""
    patterns = (
        (AnswerType.QUOTE, r"\b(?:exact words|verbatim|word for word|quote|what exactly did)\b"
                           r"|\bwhat did .{1,40} (?:say|reply|answer)\b"),
        (AnswerType.DURATION, r"\bhow long\b|\bhow (?:many|much) (?:time|days|weeks|months|years|"
                              r"hours|minutes)\b|\bwie lange\b|\bcuánto tiempo\b"
                              r"|\bcombien de temps\b"),
        (AnswerType.DATE, r"^(?:and |so |but |since |until |by |around |about )?when\b(?! (?:i|we|"
                          r"you|he|she|they)\b)|\bwhen (?:am|is|are|was|were|do|does|did|has|"
                          r"have|had|will|would|can|could|should|might)\b|\b(?:what|which) "
                          r"(?:date|day|year|month|week|time)\b|\bsince when\b"
                          r"|^(?:wann|seit wann|cuándo|quand)\b"),
        (AnswerType.NUMBER, r"\bhow (?:many|much|often|old|far|tall|big|high|fast)\b|\bwhat (?:"
                            r"number|amount|percentage|price|score|age)\b|\bwie (?:viele?|oft|alt)"
                            r"\b|\bcu[aá]nt[oa]s?\b|\bcombien\b"),
        (AnswerType.REASON, r"\bwhy\b|\bhow come\b|\bwhat (?:is|was|are|were) the reasons?\b|\bfor "
                            r"what reason\b|\bwhat (?:made|motivated|inspired|led|caused)\b"
                            r"|^(?:warum|wieso|weshalb|por qué|pourquoi)\b"),
        (AnswerType.PERSON, r"^(?:and |so |with |to |from |by )?(?:who|whom|whose|wer|wem|wen|"
                            r"quién|quiénes|qui)\b|\b(?:what|which) (?:person|friend|colleague|"
                            r"author|artist|singer|actor)\b|\bwhat is .{1,30} name\b"),
        (AnswerType.PLACE, r"\b(?:where|whereabouts)\b|\b(?:what|which) (?:place|city|town|country|"
                           r"state|restaurant|street|location|hotel|museum|park)\b"
                           r"|^(?:wo|wohin|woher|dónde|où)\b"),
        (AnswerType.LIST, r"^(?:list|name|enumerate)\b|\bwhat (?:are|were) (?:all|the|some)\b"
                          r"|\b(?:what|which) (?:kinds?|types?|sorts?) of\b|\b(?:what|which) "
                          r"(?!was\b|is\b|does\b|has\b)[a-z]+(?:ies|(?<![su])s)\b"),
        (AnswerType.YES_NO, r"^(?:and |so |but )?(?:is|are|was|were|do|does|did|has|have|had|can|"
                            r"could|will|would|should|may|might|am|isn't|aren't|didn't|doesn't|"
                            r"hat|ist|war|haben|est-ce|tiene|es)\b"),
    )  # fmt: skip
    return tuple((kind, re.compile(pattern)) for kind, pattern in patterns)


# --- Names --------------------------------------------------------------------------------


def _names(text: str, known: Collection[str]) -> list[str]:
    if _is_shouted(text):
        return []
    runs = [
        (match.group(), _opens_sentence(text, match.start())) for match in _NAME_RUN.finditer(text)
    ]
    seen = {part for run, opens in runs if not opens for part in run.split()} | set(known)
    return [name for run, opens in runs for name in _cleaned(run, seen if opens else None)]


def _opens_sentence(text: str, begin: int) -> bool:
    before = text[max(0, begin - _START_REACH) : begin].rstrip(" \t")
    return not before or before[-1] in _SENTENCE_OPENERS


def _cleaned(run: str, seen: Collection[str] | None) -> list[str]:
    """The names in a run: little words at its ends go, and so does an opener not seen elsewhere.

    `seen` is None for a run inside a sentence.
    """
    names = []
    for place, piece in enumerate(_BARE_CONNECTOR.split(run)):
        parts = [part.rstrip("-&'’") for part in piece.split()]
        first_opens = seen is not None and place == 0
        while parts and (_is_little(parts[0]) or (first_opens and _is_opener(parts[0], seen))):
            del parts[0]
            first_opens = False
        while parts and _is_little(parts[-1]):
            del parts[-1]
        if parts:
            parts[-1] = _POSSESSIVE.sub("", parts[-1])
        if first_opens and len(parts) == 1 and seen is not None and parts[0] not in seen:
            continue
        if parts and len("".join(parts)) > 1:
            names.append(" ".join(parts))
    return names


def _is_little(part: str) -> bool:
    folded = part.casefold().replace("’", "'")
    return folded in _NOT_NAMES or folded in _stopwords("en")


def _is_opener(part: str, seen: Collection[str] | None) -> bool:
    """Whether a sentence's first word is a common one: "Got Melanie a card"."""
    folded = part.casefold()
    return folded in _LITTLE and folded not in _NAME_OPENERS and part not in (seen or ())


def _is_shouted(text: str) -> bool:
    """Whether capitals tell nothing here: most characters are capitals."""
    return len(text) > _SHORT_SHOUT and 2 * len(_UPPER_LETTER.findall(text)) > len(text)


def _quoted(text: str) -> list[str]:
    return [
        title.strip(" .,!?")
        for title in _QUOTED.findall(text)
        if 1 <= len(title.split()) <= _MOST_QUOTED_WORDS and title.strip(" .,!?")
    ]


def _has_cases(text: str) -> bool:
    """Whether the text is in a script with capitals; one without letters counts as such."""
    if text.isascii() or _UNCASED.search(text) is None:
        return True
    return len(_UNCASED.findall(text)) < len(_CASED.findall(text))


def _longest_words(text: str) -> tuple[str, ...]:
    found = _unspaced_words(text)
    longest = sorted(enumerate(found), key=lambda one: (-len(one[1]), one[0]))
    return _distinct(word for _, word in longest)[:_UNCASED_ENTITIES]


# --- Keywords -----------------------------------------------------------------------------


def _keyword_candidates(text: str, names: Iterable[str], has_digits: bool) -> list[tuple[str, str]]:
    """Pairs of case-folded key and surface, names and numbers first; repeats kept."""
    candidates = [(name.casefold(), name) for name in names]
    if has_digits:
        numbers = [match.group().strip() for match in _NUMBER_WITH_UNIT.finditer(text)]
        candidates += [(" ".join(number.casefold().split()), number) for number in numbers]
    return candidates + [(run.casefold(), run) for run in _content_runs(text)]


def _unspaced_words(text: str) -> list[str]:
    """Words of scripts without capitals; long runs without spaces as pairs of characters."""
    found: list[str] = []
    for match in _SCRIPT_RUN.finditer(text):
        run = match.group()
        found.extend([run] if _fits(run) else words.words(run))
    return found


def _fits(run: str) -> bool:
    return len(run) <= _LONGEST_UNSPACED or _HAN_OR_THAI.match(run) is None


def _content_runs(text: str) -> list[str]:
    """Runs of one to three content words that stand together."""
    if not _has_cases(text):
        return _unspaced_words(text)
    plain = text.replace("’", "'")
    skip = _skipped(_language_of(plain.lower().split()))
    runs: list[str] = []
    for clause in _CLAUSE_BREAK.split(plain):
        run: list[str] = []
        for word in clause.split():
            owns = word.endswith("'s")
            bare = word[:-2] if owns else word
            if bare.lower() in skip or len(bare) < _SHORTEST_WORD or bare.isdecimal():
                if run:
                    _close(run, runs)
                continue
            run.append(bare)
            if owns or len(run) == _LONGEST_RUN:
                _close(run, runs)
        if run:
            _close(run, runs)
    return runs


def _close(run: list[str], runs: list[str]) -> None:
    runs.append(" ".join(run))
    run.clear()


def _without_overlap(ranked: Iterable[tuple[float, int, str, str]], limit: int) -> tuple[str, ...]:
    """The best of the ranked, none of whose words all stand in a better one."""
    chosen: list[str] = []
    covered: set[str] = set()
    for _, _, key, surface in ranked:
        if len(chosen) == limit:
            break
        parts = key.split(" ")
        if not covered.issuperset(parts):
            chosen.append(surface)
            covered.update(parts)
    return tuple(chosen)


def _language_of(folded_words: Iterable[str]) -> str:
    """The language that most of the words are stopwords of; English first among equals."""
    seen = frozenset(folded_words)
    if _PLAINLY_ENGLISH * len(seen & _stopwords("en")) >= len(seen):
        return "en"
    return max(words.languages(), key=lambda code: len(seen & _stopwords(code)))


@cache
def _skipped(language: str) -> frozenset[str]:
    """What never stands in a keyword."""
    return _stopwords(language) | _LITTLE | _NOT_NAMES


@cache
def _stopwords(language: str) -> frozenset[str]:
    return words.stopwords(language)


def _whole_word(needle: str, text: str) -> bool:
    begin = text.find(needle)
    while begin >= 0:
        stop = begin + len(needle)
        starts = begin == 0 or not text[begin - 1].isalnum()
        if starts and (stop == len(text) or not text[stop].isalnum()):
            return True
        begin = text.find(needle, begin + 1)
    return False


def _without_word(needle: str, text: str) -> str:
    """The text with a line's end for each place where the needle stands as a whole word."""
    return re.sub(rf"(?<![^\W_]){re.escape(needle)}(?![^\W_])", "\n", text)


def _distinct(found: Iterable[str]) -> tuple[str, ...]:
    """Each once by folded case, the first surface kept."""
    first: dict[str, str] = {}
    for surface in found:
        first.setdefault(surface.casefold(), surface)
    return tuple(first.values())
