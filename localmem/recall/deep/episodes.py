"""The tool that opens an episode: its summary, the lines of its pages, or its messages.

An episode is what belongs together across sessions. A model may open that of the best that was
found, one level at a time; rules don't, because no gain from it was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from localmem.recall.deep.calls import BY_RULE, Call, Observation, refused, source_line
from localmem.recall.deep.sources import EpisodeText
from localmem.recall.deep.telling import judged, message_line
from localmem.types import EpisodeId, Evidence, FoundMessage, Layer
from localmem.wording import counted

if TYPE_CHECKING:
    from localmem.recall.deep.bench import Bench

LEVELS = ("summary", "members", "raw")
_SPEAKING = 20
"""How many of what was found speak for their episodes, the one of rank r with 1 / (1 + r)."""
_MOST_LINES = 12


def next_opening(bench: Bench) -> Call | None:
    """The next level of the episode that most of what was found lies in; None where all are open,
    or a single message alone lies in it."""
    if bench.sources.tiers is None or not bench.switches.allows("open_episode"):
        return None
    best = list(bench.state.candidates)[:_SPEAKING]
    episode_of = bench.sources.tiers.episode_of(best)
    strength: dict[EpisodeId, float] = {}
    held: dict[EpisodeId, int] = {}
    for rank, number in enumerate(best):
        if number in episode_of:
            episode = episode_of[number]
            strength[episode] = strength.get(episode, 0.0) + 1 / (1 + rank)
            held[episode] = held.get(episode, 0) + 1
    shared = [episode for episode in strength if held[episode] > 1]
    if not shared:
        return None
    first = min(shared, key=lambda episode: (-strength[episode], episode))
    level = bench.state.opened_episodes.get(first, 0)
    if level == len(LEVELS):
        return None
    return Call("open_episode", bench.state.question.text, episode_id=first, level=LEVELS[level])


def open_episode(bench: Bench, call: Call) -> Observation:
    """Opens one level of an episode. The messages of an episode count as found from then on."""
    tiers, number = bench.sources.tiers, call.episode_id
    if tiers is None or number is None:
        return refused("this memory has no episodes yet")
    if call.level not in LEVELS:
        return refused(f"an episode has no level {call.level!r}, want one of {', '.join(LEVELS)}")
    episode = tiers.episode(number)
    opened = bench.state.opened_episodes
    opened[number] = max(opened.get(number, 0), LEVELS.index(call.level) + 1)
    if call.level == "raw":
        return _read_messages(bench, episode)
    pages = [page for page in episode.pages if page[1]]
    if call.level == "summary":
        messages = [one for _, said in pages[:1] for one in said]
        return _open_lines(bench, [(episode.summary, messages)])
    return _open_lines(bench, _fitting(bench, pages))


def _fitting(
    bench: Bench, pages: Sequence[tuple[str, tuple[FoundMessage, ...]]]
) -> list[tuple[str, Sequence[FoundMessage]]]:
    """The pages whose lines share most with the question, in the order of time."""
    question = bench.state.question
    shares = [len(question.terms & question.stems.of_text(line)) for line, _ in pages]
    order = sorted(range(len(pages)), key=lambda place: (-shares[place], place))[:_MOST_LINES]
    return [pages[place] for place in sorted(order)]


def _open_lines(bench: Bench, lines: Sequence[tuple[str, Sequence[FoundMessage]]]) -> Observation:
    """Puts L0 lines into V, each with the messages behind it."""
    state, characters, count = bench.state, 0, 0
    for text, said in lines:
        if not text or not said:
            continue
        _find(bench, said)
        line = source_line(text, Layer.SUMMARY, [one.message for one in said], BY_RULE)
        view = state.open(said[0].session.id, Layer.SUMMARY, [judged(line, state.question)])
        characters, count = characters + view.characters, count + len(view.lines)
    if not count:
        return refused("nothing of it is summarised yet, or all of that is open")
    return Observation(counted(count, "line"), Layer.SUMMARY, characters)


def _read_messages(bench: Bench, episode: EpisodeText) -> Observation:
    """Opens the messages of an episode that fit the question best, whatever their session."""
    state = bench.state
    room = min(bench.raw_at_once, bench.limits.raw_turns - len(state.raw_turns))
    if room <= 0:
        return refused(f"{bench.limits.raw_turns} raw turns are open, no more may be")
    said = [one for _, page in episode.pages for one in page]
    _find(bench, said)
    chosen = _best(bench, said, room)
    if not chosen:
        return refused("no message of it has to do with the question, or those are open")
    characters = telling = 0
    for one in chosen:
        state.raw_turns.add(one.message.turn_id)
        line = message_line(Evidence(one.message, one.dates, one.hit.score), state.question)
        characters += state.open(one.message.session_id, Layer.RAW, [line]).characters
        telling += line.telling
    return Observation(
        f"{counted(len(chosen), 'message')}, {telling} telling", Layer.RAW, characters
    )


def _best(bench: Bench, said: Sequence[FoundMessage], most: int) -> list[FoundMessage]:
    """By how well a search found them, then by shared words; those that are open are left out."""
    state = bench.state
    relevance, question = state.relevance(), state.question
    held = {n for line in state.lines(least=Layer.RAW) for n in line.message_ids}
    ranked = [
        (-relevance.get(one.message.id, 0.0), -shared, one.message.id, one)
        for one in said
        if one.message.id not in held
        and (shared := len(question.terms & question.stems.of_text(one.message.whole_text)))
    ]
    return [row[3] for row in sorted(ranked, key=lambda row: row[:3])[:most]]


def _find(bench: Bench, said: Sequence[FoundMessage]) -> None:
    """What no search has found joins what was found, with the lowest score of all."""
    state = bench.state
    low = min((one.score for one in state.candidates.values()), default=0.0)
    new = [one for one in said if one.message.id not in state.candidates]
    state.merge(
        [replace(one, hit=replace(one.hit, score=low)) for one in new], bench.limits.sessions
    )
