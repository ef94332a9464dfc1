"""Topic regrouping: a key for each thing known, each key tied to its nearest, components as groups.

No threshold decides what belongs together: a key keeps the one other key that is most similar to
it, and what is connected is one group (AdaMem, section B.2). Keys and links depend on what is
known of one participant alone. Pure: rows of vectors come in, from an embedder or from `word_rows`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localmem import entities
from localmem.participants.slots import table
from localmem.participants.terms import stems_of, words_of
from localmem.ports import FloatMatrix
from localmem.types import Item, ItemId

_NAMED = 1.5
"""What a capital or a digit adds to a keyword (supplement, section 0)."""
_LONE = 0.5
"""What a keyword counts that no other item has: a topic is what several share."""
_EXACT_DECIMALS = 5
"""Similarities are rounded to so many: the same rows multiplied in other company differ in more."""
_BLOCK_ROWS = 1_024
_VAGUE_TEXT = """
    able about actually add added adds agree already always amazing another anyone anything
    appreciate appreciation ask asking asks away awesome back based beautiful believe best better
    big bit blast bring brings buy call calls came cause certain change changes check choose chose
    clear close come coming common congrats congratulations consider considering cool could couple
    course crazy create created current currently cute day days deal decide decision deep definitely
    depend detail details difference different directly done during early easy else end ends enjoy
    enough ensure especially ever every everyone everything exactly example excellent excited expect
    expecting experience explain fact fair fan far feel feeling feels felt few finally find finding
    first fix focus focused follow following forever forget forward found free friday full fun
    general gets getting give given giving glad goes going gone gonna good gorgeous got grateful
    great guess guys handle happen happened happening happens happy hard haven hear heard help
    helped helpful helping helps here hey hi honestly hope hoping hours huge idea implement
    implementing important impressive improve include includes including incredible inside
    inspiration inspiring instead interested interesting involved issue issues job join just keep
    kept kind kinda knew know known last lately later learn learned learning least leave left less
    let lets level life like line literally little live living local long longer look looked looking
    looks lost lot lots love loved lovely loves lucky made main major make makes making manage
    managed matter matters may maybe mean means meant mention met might mind mine minutes missing
    moment monday month months more morning mostly move much must myself name nearly need needed
    needing needs never new next nice night normal nothing notice now number obviously often ok okay
    old one ones open order original others outside own part particular pass passing past people
    perfect person pic piece place places plan planning plans pleased point possible power prepare
    prepared present pretty prior probably problem process project proper proud provide provides put
    question quick quickly quiet quite rather reach ready real really reason recent recently
    refreshing relate related relaxing remember remind reminder reminds require required requires
    rest result return right role run safe saturday save saw say saying says second seeing seem
    seemed seems seen send sense serious set share shared short show showed side sign simple since
    single slow small someone something sometimes somewhat soon sorry sort sounds special specific
    standing start started starting stay step steps stick still stoked stop strong stuff successful
    such suggest suggestion sunday super support sure surely switch take taken takes taking talk
    talked talking tell terms than thank thankful thanks that therefore thing things think thinking
    thought thursday time times today together told tomorrow tonight took total totally touch tough
    town track tried true truly try trying tuesday turn turned twice two type types unable
    understand unique update us use used useful using usually version view wait waiting want wanted
    wants watch way ways wednesday week weekend weeks welcoming well went what whole wicked wide
    wild willing wise wish wonder wonderful wondering work worked working works world worry worth
    would wow year years yes yesterday yet yourself yup
"""
_VAGUE = frozenset(_VAGUE_TEXT.split())


@dataclass(frozen=True, slots=True)
class Link:
    """A key's tie to its nearest other key; `nearest` is "" where nothing is near it at all.

    `similarity` is their cosine, rounded.
    """

    key: str
    nearest: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Group:
    """Keys that are connected, the most central first."""

    keys: tuple[str, ...]


# --- Keys ---------------------------------------------------------------------------------


def topic_keys(items: Sequence[Item], names: Iterable[str] = ()) -> dict[ItemId, str]:
    """For each item the word or short phrase that it is about, case-folded; "" where it has none.

    A topic is what some of the items share and most do not: of an item's keywords the one with
    the highest log(1 + n) * log((1 + N) / n), where n of N items hold it, a capital or a digit
    counting half as much again, and one that no other item has half. Of equals the longer phrase,
    then the earlier. `names` are those of participants, which are nobody's topic.
    """
    skip = frozenset(part for name in names for part in _folded_words(name))
    several = {item.id: _candidates(item.quote, skip) for item in items}
    shared = Counter(stem for found in several.values() for stem in {one.stem for one in found})
    surfaces: dict[str, Counter[str]] = {}
    for found in several.values():
        for one in found:
            surfaces.setdefault(one.stem, Counter())[one.surface] += 1
    chosen = {
        number: max(found, key=lambda one: _telling(one, shared, len(items)), default=None)
        for number, found in several.items()
    }
    return {
        number: "" if one is None else _most_common(surfaces[one.stem])
        for number, one in chosen.items()
    }


def attribute_key(item: Item) -> str:
    """What an attribute is about, in words: "home: Graz", "likes: rowing"."""
    slot = table().slot(item.slot)
    label = slot.label if slot is not None and slot.label else ""
    head = " ".join(part for part in (label, item.entity) if part)
    told = f"{head}: {item.value}" if head and item.value else head or item.value
    return told.casefold()


@dataclass(frozen=True, slots=True)
class _Candidate:
    stem: str
    surface: str
    place: int
    marked: bool


def _candidates(quote: str, skip: frozenset[str]) -> list[_Candidate]:
    """Keyword phrases of a sentence and their single words, without names and vague words."""
    found: dict[str, _Candidate] = {}
    for phrase in entities.keywords(quote):
        words = [word for word in _folded_words(phrase) if not _is_vague(word)]
        if not words or not skip.isdisjoint(words):
            continue
        marked = any(part[:1].isupper() for part in words_of(phrase)) or not phrase.isalpha()
        for surface in dict.fromkeys((" ".join(words), *words)):
            stem = _stem(surface)
            if stem:
                one = _Candidate(stem, surface, len(found), marked and surface != phrase.lower())
                found.setdefault(stem, one)
    return list(found.values())


def _telling(one: _Candidate, shared: Mapping[str, int], total: int) -> tuple[float, int, int]:
    count = shared[one.stem]
    weight = math.log(1 + count) * math.log((1 + total) / count) * (_LONE if count == 1 else 1.0)
    return (round(weight * (_NAMED if one.marked else 1.0), 9), len(one.stem.split()), -one.place)


def _stem(surface: str) -> str:
    return " ".join(sorted(stems_of(surface)))


def _most_common(counted: Counter[str]) -> str:
    return min(counted, key=lambda surface: (-counted[surface], len(surface), surface))


def _is_vague(word: str) -> bool:
    here = table().lexicon
    listed = word in _VAGUE or word in here.verbs or word in here.events
    if listed or word in here.positive or word in here.negative:
        return True
    return word.endswith(("ed", "ly")) or not any(map(str.isalpha, word)) or not stems_of(word)


def _folded_words(text: str) -> list[str]:
    return [word.casefold() for word in words_of(text)]


# --- Links --------------------------------------------------------------------------------


def word_rows(keys: Sequence[str]) -> FloatMatrix:
    """float32 (n, words), unit rows: keys by the words that they hold, where no embedder is."""
    stems = [sorted(stems_of(key)) for key in keys]
    places = {stem: n for n, stem in enumerate(sorted({one for found in stems for one in found}))}
    rows = np.zeros((len(keys), max(len(places), 1)), np.float32)
    for row, found in enumerate(stems):
        for stem in found:
            rows[row, places[stem]] = 1.0 / math.sqrt(len(found))
    return rows


def link(
    keys: Sequence[str], rows: FloatMatrix, known: Mapping[str, Link] | None = None
) -> dict[str, Link]:
    """Each key with its nearest other key; of equally near ones the first in the alphabet.

    `rows` are float32 (n, dim), unit, one for each of `keys`, which are distinct. `known` are
    links that were made before from the same rows: only new keys, and those whose nearest is
    gone, are compared with all; the result is that of comparing everything.
    """
    order = sorted(range(len(keys)), key=lambda place: keys[place])
    ordered = [keys[place] for place in order]
    matrix = rows[order]
    here = set(ordered)
    before = known or {}
    kept = {key: one for key in ordered if (one := before.get(key)) and one.nearest in here}
    lonely = {key: before[key] for key in ordered if key in before and not before[key].nearest}
    kept |= lonely
    fresh = [place for place, key in enumerate(ordered) if key not in kept]
    new = {ordered[place] for place in fresh if ordered[place] not in before}
    found = _all_links(ordered, matrix, fresh)
    for key, one in kept.items():
        found[key] = one
    if new and kept:
        _relink(found, ordered, matrix, [p for p, key in enumerate(ordered) if key in new], kept)
    return {key: found[key] for key in ordered}


def _all_links(keys: Sequence[str], matrix: FloatMatrix, places: Sequence[int]) -> dict[str, Link]:
    """The links of the keys at `places`, compared with all keys."""
    found: dict[str, Link] = {}
    for start in range(0, len(places), _BLOCK_ROWS):
        block = list(places[start : start + _BLOCK_ROWS])
        near = np.round(matrix[block] @ matrix.T, _EXACT_DECIMALS)
        near[np.arange(len(block)), block] = -np.inf
        best = near.argmax(axis=1)  # the first of equals
        for row, place in enumerate(block):
            found[keys[place]] = _link(keys[place], keys, int(best[row]), float(near[row].max()))
    return found


def _relink(
    found: dict[str, Link],
    keys: Sequence[str],
    matrix: FloatMatrix,
    new: Sequence[int],
    kept: Mapping[str, Link],
) -> None:
    """Let kept keys go over to a new key that is nearer, or as near and earlier."""
    old = [place for place, key in enumerate(keys) if key in kept]
    near = np.round(matrix[old] @ matrix[list(new)].T, _EXACT_DECIMALS)
    best = near.argmax(axis=1)
    for row, place in enumerate(old):
        key, candidate = keys[place], keys[new[int(best[row])]]
        similarity, before = float(near[row].max()), kept[key]
        nearer = similarity > before.similarity or not before.nearest
        as_near = similarity == before.similarity and candidate < before.nearest
        if similarity > 0.0 and (nearer or as_near):
            found[key] = Link(key, candidate, similarity)


def _link(key: str, keys: Sequence[str], best: int, similarity: float) -> Link:
    if similarity <= 0.0:  # nothing in common, or nothing else there
        return Link(key, "", 0.0)
    return Link(key, keys[best], similarity)


# --- Groups -------------------------------------------------------------------------------


def groups(links: Mapping[str, Link]) -> tuple[Group, ...]:
    """The connected components, each with its most central key first, by that key.

    A key is the more central the more keys have it as their nearest, then the more similar these
    are, then the earlier in the alphabet.
    """
    root = {key: key for key in links}

    def found(key: str) -> str:
        while root[key] != key:
            root[key] = root[root[key]]
            key = root[key]
        return key

    pull: dict[str, float] = dict.fromkeys(links, 0.0)
    for one in links.values():
        if one.nearest:
            root[found(one.key)] = found(one.nearest)
            pull[one.nearest] += 1.0 + one.similarity
    members: dict[str, list[str]] = {}
    for key in links:
        members.setdefault(found(key), []).append(key)
    ranked = [
        Group(tuple(sorted(several, key=lambda key: (-round(pull[key], 4), key))))
        for several in members.values()
    ]
    return tuple(sorted(ranked, key=lambda group: group.keys[0]))


def keep_ids(
    before: Mapping[int, frozenset[int]], now: Sequence[frozenset[int]]
) -> tuple[int | None, ...]:
    """For each group of items now the id of the group before that it goes on, else None.

    A pair is made where most items are shared, the largest overlap first, then the lower id, so
    that a group keeps its id while things are added to it, and of two that merge one goes on.
    """
    overlaps = sorted(
        (-len(items & old), number, place)
        for place, items in enumerate(now)
        for number, old in before.items()
        if items & old
    )
    chosen: list[int | None] = [None] * len(now)
    taken: set[int] = set()
    for _, number, place in overlaps:
        if chosen[place] is None and number not in taken:
            chosen[place] = number
            taken.add(number)
    return tuple(chosen)
