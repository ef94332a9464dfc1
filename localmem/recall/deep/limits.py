"""The numbers of a deep question, and the switches that a measurement may turn."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What the controller may do at most (APDMem, Table 5).

    `layer_seconds` bounds what a model may take to make the facts or notes of one session while
    a question waits; 0: by rule or from the cache. `hits` are messages that one query brings,
    `shown` those (or facts) that the answer is written from. `list_group` messages at a time are
    asked for what belongs in a list; on four development questions a 1.5B model named more of
    the right things in groups of five than one by one, and as cleanly as from ten at once.
    """

    sessions: int = 20
    auto_drill: int = 3
    drilled: int = 10
    raw_turns: int = 20
    reflections: int = 2
    nudges: int = 2
    parts: int = 4
    queries: int = 5
    hits: int = 40
    shown: int = 12
    list_group: int = 5
    layer_seconds: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Switches:
    """Parts of the deep depth, all on in the product; off for ablation (APDMem, Tables 4, 11).

    `vanilla_rag` leaves nothing but raw messages and one reply. Without `controller` the best
    sessions of one search are read at every layer.
    """

    vanilla_rag: bool = False
    controller: bool = True
    read_facts: bool = True
    read_turns: bool = True
    read_raw: bool = True
    reflect: bool = True
    decompose: bool = True
    interpret_dates: bool = True
    notes: bool = True
    draft: bool = True
    list_items: bool = True
    plan_route: bool = True
    expand_graph: bool = True
    timeline: bool = True
    read_persona: bool = True
    open_episode: bool = True
    recall_lasting: bool = True

    def allows(self, tool: str) -> bool:
        """Whether a tool of this name may be used; tools without a switch always may."""
        return bool(getattr(self, tool, True))
