"""What the tools, the policy and the writer of one deep question share: state, doors, budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from localmem.recall.deep.calls import Call, Observation
from localmem.recall.deep.limits import Limits, Switches
from localmem.recall.deep.meter import Meter
from localmem.recall.deep.mind import Mind
from localmem.recall.deep.question import looks_compound
from localmem.recall.deep.sources import Sources, tokens_of
from localmem.recall.deep.state import State
from localmem.types import Evidence, Layer, MessageId, SessionId, TraceStep

OnStep = Callable[[TraceStep], None]


@dataclass(slots=True)
class Bench:
    """One question's workbench. `mind` is the controller's model, None under rules alone."""

    state: State
    sources: Sources
    limits: Limits
    switches: Switches
    meter: Meter
    mind: Mind | None = None
    on_step: OnStep | None = None
    raw_at_once: int = 4
    """Raw turns that one call may open."""
    _messages: dict[SessionId, dict[MessageId, Evidence]] = field(default_factory=dict)

    @property
    def layer_seconds(self) -> float | None:
        """What making a layer may take now."""
        most, left = self.limits.layer_seconds, self.meter.seconds_left
        if left is None or most == 0.0:
            return most
        return max(0.0, left if most is None else min(most, left))

    def messages_of(self, session_id: SessionId) -> Mapping[MessageId, Evidence]:
        """The messages of a session, read once. To read is not to open."""
        if session_id not in self._messages:
            read = self.sources.messages(session_id)
            self._messages[session_id] = {one.message.id: one for one in read}
        return self._messages[session_id]

    def split_by_model(self, text: str) -> tuple[str, ...]:
        """The parts of a question as the controller's model splits it.

        () without a model, and where nothing in the question looks like more than one.
        """
        if self.mind is None or not looks_compound(text):
            return ()
        return self.mind.split(text, self.limits.parts)

    def record(self, call: Call, seen: Observation, began: float) -> None:
        """Puts a call into the trace and tells whoever listens."""
        outcome = seen.outcome if seen.ok else f"refused: {seen.outcome}"
        self.note(call.tool, call.arguments, outcome, began, seen.layer, seen.characters)

    def note(
        self,
        tool: str,
        arguments: str,
        outcome: str,
        began: float,
        layer: Layer | None = None,
        characters: int = 0,
    ) -> None:
        """Puts a step into the trace; `began` is a value of `time.perf_counter`."""
        step = TraceStep(
            tool=tool,
            arguments=arguments,
            layer=layer,
            tokens=tokens_of(characters),
            seconds=time.perf_counter() - began,
            decision=self.state.decision,
            outcome=outcome,
        )
        self.state.steps.append(step)
        if self.on_step is not None:
            self.on_step(step)
