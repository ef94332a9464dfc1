"""What the controller is measured against (APDMem, Table 4): reading without deciding anything."""

from __future__ import annotations

import time

from localmem.recall.deep.bench import Bench
from localmem.recall.deep.calls import Call
from localmem.recall.deep.tools import run_call

_LAYERS = ("read_facts", "read_turns", "read_raw")


def read_raw_only(bench: Bench) -> None:
    """Vanilla RAG: the best messages of one search, raw; no layers, no decisions."""
    bench.state.decision = 1
    _run(bench, Call("search", bench.state.question.text))
    best = list(bench.state.candidates.values())[: bench.limits.shown]
    counts: dict[int, int] = {}
    for one in best:
        number = one.found.message.session_id
        counts[number] = counts.get(number, 0) + 1
    for session_id in bench.state.ranked_sessions:
        if session_id in counts:
            bench.raw_at_once = counts[session_id]
            _run(bench, Call("read_raw", bench.state.question.text, session_id))


def read_every_layer(bench: Bench) -> None:
    """Without a controller: the best sessions of one search, each read at every layer."""
    bench.state.decision = 1
    question = bench.state.question.text
    _run(bench, Call("search", question))
    bench.raw_at_once = max(1, bench.limits.raw_turns // bench.limits.drilled)
    for session_id in bench.state.ranked_sessions[: bench.limits.drilled]:
        for tool in _LAYERS:
            if bench.switches.allows(tool):
                _run(bench, Call(tool, question, session_id))


def _run(bench: Bench, call: Call) -> None:
    began = time.perf_counter()
    bench.record(call, run_call(bench, call), began)
