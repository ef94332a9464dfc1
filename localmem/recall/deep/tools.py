"""The controller's tools as a table: what each does, and how it is run.

A call with a bad argument is an observation that says what is wrong; no tool raises for it. Each
tool opens what its layer holds and nothing finer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from localmem.errors import RecordNotFoundError
from localmem.recall.deep import reflect
from localmem.recall.deep.calls import BY_RULE, Call, Observation, Tool, refused, source_line
from localmem.recall.deep.episodes import open_episode
from localmem.recall.deep.lasting import recall_lasting
from localmem.recall.deep.question import described_dates, question_dates, split_question
from localmem.recall.deep.state import Line, View
from localmem.recall.deep.telling import judged, message_line
from localmem.recall.route import described, plan_route, refine
from localmem.recall.targets import Target, TargetKind
from localmem.types import (
    Evidence,
    KeyFact,
    Layer,
    Message,
    MessageId,
    SessionId,
    TurnNote,
)
from localmem.wording import counted

if TYPE_CHECKING:
    from localmem.recall.deep.bench import Bench

_LONGEST_QUERY = 300
_GRAPH_SEEDS = 2
_GRAPH_MOST = 10
"""Messages that one expansion brings."""
_PERSONA_MOST = 12
"""Lines of a persona that are opened."""
_REPLY_SHARE = 0.9
"""How well a reply fits, as a share of how well the question before it does."""


def run_call(bench: Bench, call: Call) -> Observation:
    """What came of a call; a tool that is unknown or left out, or lacks an argument, says so."""
    tool = TOOLS.get(call.tool)
    if tool is None or not bench.switches.allows(call.tool):
        return refused(f"there is no tool {call.tool!r}")
    if "query" in tool.takes and not call.query.strip():
        return refused("a query is missing")
    if "session" in tool.takes:
        if call.session_id is None:
            return refused("a session is missing")
        if call.session_id not in bench.state.ranked_sessions:
            return refused(f"session {call.session_id} was not found by a search")
    if "episode" in tool.takes and call.episode_id is None:
        return refused("an episode is missing")
    bench.state.taken.add(call.tool)
    try:
        return tool.run(bench, call)
    except RecordNotFoundError as error:
        return refused(error.message)


# --- The tools ----------------------------------------------------------------------------


def _search(bench: Bench, call: Call) -> Observation:
    query = " ".join(call.query.split())[:_LONGEST_QUERY]
    state = bench.state
    if query.casefold() in {tried.casefold() for tried in state.tried}:
        return refused("this query was tried already")
    found = bench.sources.search(query, bench.limits.hits)
    state.tried.append(query)
    fresh = state.merge(found, bench.limits.sessions)
    characters = _open_summaries(bench)
    return Observation(
        f"{counted(len(found), 'message')}, {fresh} new, in "
        f"{counted(len(state.ranked_sessions), 'session')}",
        Layer.SUMMARY,
        characters,
    )


def _open_summaries(bench: Bench) -> int:
    """Opens the L0 line of each ranked session's best turn; how many characters are new."""
    state = bench.state
    best: dict[SessionId, Message] = {}
    for candidate in state.candidates.values():
        message = candidate.found.message
        best.setdefault(message.session_id, message)
    shown = {s: m for s, m in best.items() if s in state.ranked_sessions}
    lines = {
        one.turn_id: one for one in bench.sources.summaries([m.turn_id for m in shown.values()])
    }
    characters = 0
    for session_id, message in shown.items():
        summary = lines.get(message.turn_id)
        if summary is not None:
            line = source_line(summary.sentence, Layer.SUMMARY, [message], summary.provenance)
            characters += state.open(session_id, Layer.SUMMARY, [line]).characters
    return characters


def _read_facts(bench: Bench, call: Call) -> Observation:
    session_id = _session(call)
    if not _may_drill(bench, session_id):
        return refused(f"{bench.limits.drilled} sessions are open, no more may be")
    made = bench.sources.layers.facts(session_id, seconds=bench.layer_seconds)
    messages = bench.messages_of(session_id)
    lines = [_fact_line(bench, fact, messages) for fact in made.facts]
    return _opened(bench, session_id, Layer.FACTS, lines)


def _read_turns(bench: Bench, call: Call) -> Observation:
    session_id = _session(call)
    if not _may_drill(bench, session_id):
        return refused(f"{bench.limits.drilled} sessions are open, no more may be")
    best = _best_messages(bench, session_id, call.query, bench.limits.raw_turns)
    made = bench.sources.layers.notes(
        session_id, message_ids=[one.message.id for one in best], seconds=bench.layer_seconds
    )
    messages = bench.messages_of(session_id)
    lines = [_note_line(bench, note, messages) for note in made.notes]
    return _opened(bench, session_id, Layer.NOTES, lines)


def _read_raw(bench: Bench, call: Call) -> Observation:
    session_id = _session(call)
    if not _may_drill(bench, session_id):
        return refused(f"{bench.limits.drilled} sessions are open, no more may be")
    room = bench.limits.raw_turns - len(bench.state.raw_turns)
    if room <= 0:
        return refused(f"{bench.limits.raw_turns} raw turns are open, no more may be")
    chosen = _best_messages(bench, session_id, call.query, min(room, bench.raw_at_once))
    if not chosen:
        return refused("no turn of it has to do with the question")
    bench.state.raw_turns |= {one.message.turn_id for one in chosen}
    return _opened(
        bench, session_id, Layer.RAW, [message_line(one, bench.state.question) for one in chosen]
    )


def _interpret_dates(bench: Bench, call: Call) -> Observation:
    question = bench.state.question
    dates = question_dates(question)
    bench.state.meant = described_dates(question, dates)
    if not dates:
        return Observation("the question names no time")
    return Observation("; ".join(bench.state.meant) or ", ".join(one.words for one in dates))


def _decompose(bench: Bench, call: Call) -> Observation:
    text = bench.state.question.text
    parts = split_question(text, bench.limits.parts) or bench.split_by_model(text)
    bench.state.parts = parts
    return Observation(" | ".join(parts) if parts else "one question, not split")


def _plan_route(bench: Bench, call: Call) -> Observation:
    """The route of the question; a model that leads the search may revise one that is not sure."""
    question = bench.state.question
    both = Target(TargetKind.BOTH) if len(question.named) > 1 else None
    route = plan_route(question.text, both)
    choose = bench.mind.weigh if bench.mind is not None else None
    bench.state.route = refine(route, question.text, choose)
    return Observation(described(bench.state.route))


def _expand_graph(bench: Bench, call: Call) -> Observation:
    """From the best that was found along the graph; what it leads to joins what was found."""
    state, reach = bench.state, bench.sources.neighbours
    if reach is None:
        return refused("this memory has no graph")
    if not state.candidates:
        return refused("nothing was found yet to go on from")
    seeds = state.route.seeds if state.route is not None else 0
    best = list(state.candidates)[: seeds or _GRAPH_SEEDS]
    found = reach(state.question.text, best, _GRAPH_MOST, state.route)
    if not found:
        return Observation("the graph leads to nothing more")
    scores = [one.score for one in state.candidates.values()]
    low, high = min(scores), max(scores)
    placed = [
        replace(one, hit=replace(one.hit, score=low + one.hit.score * (high - low)))
        for one in found
    ]
    fresh = state.merge(placed, bench.limits.sessions)
    characters = _open_summaries(bench)
    return Observation(
        f"{counted(len(found), 'message')} near what was found, {fresh} new",
        Layer.SUMMARY,
        characters,
    )


def _timeline(bench: Bench, call: Call) -> Observation:
    """Opens the found messages that name a time, the best of them, in the order of time."""
    state = bench.state
    room = min(bench.raw_at_once * 2, bench.limits.raw_turns - len(state.raw_turns))
    if room <= 0:
        return refused(f"{bench.limits.raw_turns} raw turns are open, no more may be")
    found = bench.sources.search(" ".join(call.query.split())[:_LONGEST_QUERY], bench.limits.hits)
    state.merge(found, bench.limits.sessions)
    dated = [one for one in found if one.dates and one.message.said_at is not None][:room]
    if not dated:
        return refused("nothing that was found names a time")
    dated.sort(key=lambda one: (str(one.message.said_at), one.message.id))
    characters = 0
    for one in dated:
        state.raw_turns.add(one.message.turn_id)
        line = message_line(Evidence(one.message, one.dates, one.hit.score), state.question)
        characters += state.open(one.message.session_id, Layer.RAW, [line]).characters
    days = [f"{one.message.said_at:%d %B %Y}" for one in (dated[0], dated[-1])]
    return Observation(
        f"{counted(len(dated), 'message')} from {days[0]} to {days[1]}", Layer.RAW, characters
    )


def _read_persona(bench: Bench, call: Call) -> Observation:
    """Opens what is known of a person that has to do with the question, as far as it has sources.

    The messages behind it count as found, so that they can be read.
    """
    state, known_of = bench.state, bench.sources.persona
    if known_of is None:
        return refused("nothing is kept of people here")
    question = state.question
    wanted = question.terms - question.stems.of_text(call.query)
    lines = [line for line in known_of(call.query) if line.messages]
    fitting = [line for line in lines if wanted & question.stems.of_text(line.text)]
    if not fitting:
        return refused(f"nothing that is known of {call.query} has to do with the question")
    chosen = fitting[:_PERSONA_MOST]
    behind = {one.message.id: one for line in chosen for one in line.messages}
    low = min((one.score for one in state.candidates.values()), default=0.0)
    new = [one for number, one in behind.items() if number not in state.candidates]
    state.merge(
        [replace(one, hit=replace(one.hit, score=low)) for one in new], bench.limits.sessions
    )
    characters = 0
    for known in chosen:
        messages = [one.message for one in known.messages]
        line = source_line(known.text, Layer.FACTS, messages, BY_RULE)
        view = state.open(messages[0].session_id, Layer.FACTS, [judged(line, question)])
        characters += view.characters
    return Observation(
        f"{counted(len(chosen), 'line')} of {len(lines)}, {counted(len(behind), 'message')}",
        Layer.FACTS,
        characters,
    )


def _reflect(bench: Bench, call: Call) -> Observation:
    state = bench.state
    if state.reflections >= bench.limits.reflections:
        return refused(f"{bench.limits.reflections} reflections were made, no more may be")
    return Observation(reflect.reflect(bench))


TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "interpret_dates", "tell what the question's relative dates mean", (), _interpret_dates
        ),
        Tool("decompose", "split a compound question", (), _decompose),
        Tool("plan_route", "choose how to look, by the question's words", (), _plan_route),
        Tool("search", "find sessions by their L0 lines and messages", ("query",), _search),
        Tool("read_facts", "read the key facts of a session (L1)", ("session",), _read_facts),
        Tool("read_turns", "read the notes on a session's turns (L2)", ("session",), _read_turns),
        Tool("read_raw", "read a session's most relevant turns (L3)", ("session",), _read_raw),
        Tool("expand_graph", "go on from what was found along time and topics", (), _expand_graph),
        Tool("timeline", "put what names a time in order", ("query",), _timeline),
        Tool("read_persona", "read what is known of a person", ("query",), _read_persona),
        Tool(
            "open_episode",
            "open an episode: its summary, the lines of its pages, or its messages",
            ("episode",),
            open_episode,
        ),
        Tool("recall_lasting", "recall what the long term holds of it", (), recall_lasting),
        Tool("reflect", "judge what is there, and what to look for next", (), _reflect),
    )
}
"""Name -> tool. A further tool is a further row."""


# --- Lines --------------------------------------------------------------------------------


def _fact_line(bench: Bench, fact: KeyFact, messages: Mapping[MessageId, Evidence]) -> Line:
    sources = [messages[number].message for number in fact.message_ids if number in messages]
    line = source_line(fact.text, Layer.FACTS, sources, fact.provenance, supported=fact.supported)
    return judged(line, bench.state.question)


def _note_line(bench: Bench, note: TurnNote, messages: Mapping[MessageId, Evidence]) -> Line:
    sources = [messages[note.message_id].message] if note.message_id in messages else []
    line = source_line(note.text, Layer.NOTES, sources, note.provenance, supported=note.supported)
    return judged(line, bench.state.question)


def _opened(
    bench: Bench, session_id: SessionId, layer: Layer, lines: Sequence[Line]
) -> Observation:
    """Puts lines into V; lines without a source are no evidence."""
    state = bench.state
    if session_id not in state.drilled:
        state.drilled.append(session_id)
    new: View = state.open(session_id, layer, [line for line in lines if line.message_ids])
    telling = sum(line.telling for line in new.lines)
    return Observation(
        f"{counted(len(new.lines), 'line')}, {telling} telling", layer, new.characters
    )


def _best_messages(bench: Bench, session_id: SessionId, query: str, most: int) -> list[Evidence]:
    """The session's messages that fit best, by the searches' score, then by shared words.

    A reply fits nearly as well as the question that it follows.
    """
    relevance = bench.state.relevance()
    question = bench.state.question
    wanted = question.terms | question.stems.of_text(query)
    already = bench.state.view(session_id, Layer.RAW)
    held = {number for line in (already.lines if already else ()) for number in line.message_ids}
    ranked = []
    asked_fit = asked_shared = 0.0
    for one in bench.messages_of(session_id).values():
        message = one.message
        shared = float(len(wanted & question.stems.of_text(message.whole_text)))
        fit = max(relevance.get(message.id, 0.0), _REPLY_SHARE * asked_fit)
        shared = max(shared, _REPLY_SHARE * asked_shared)
        if message.id not in held and (fit > 0 or shared):
            ranked.append((-fit, -shared, message.id, one))
        asks = message.text.rstrip().endswith("?")
        asked_fit, asked_shared = (fit, shared) if asks else (0.0, 0.0)
    ranked.sort(key=lambda row: row[:3])
    return [row[3] for row in ranked[:most]]


def _may_drill(bench: Bench, session_id: SessionId) -> bool:
    state = bench.state
    return session_id in state.drilled or len(state.drilled) < bench.limits.drilled


def _session(call: Call) -> SessionId:
    assert call.session_id is not None  # noqa: S101  # run_call has looked
    return call.session_id
