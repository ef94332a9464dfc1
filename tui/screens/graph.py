"""Graph: what a person, a topic, a thing known or a message is tied to, from one to the next."""

from __future__ import annotations

from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import Inks, inks_of
from localmem_tui.screens.base import PLACES, MemoryScreen
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.graph_tree import GraphTree
from localmem_tui.widgets.rows import Rows
from localmem_tui.work import Job
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.suggester import SuggestFromList
from textual.widgets import Input, Static

from localmem.errors import LocalMemError, RecordNotFoundError
from localmem.memory import Memory
from localmem.types import (
    GraphNode,
    ItemId,
    Neighbourhood,
    Node,
    NodeKind,
    ParticipantId,
    PersonOverview,
    SessionView,
)
from localmem.wording import counted

_ITEMS = (NodeKind.FACT, NodeKind.ATTRIBUTE, NodeKind.EVENT)


class GraphScreen(MemoryScreen):
    """A node in the middle, its edges as a tree, and what the one under the cursor says."""

    NAME = "Graph"
    HELP = """\
What is tied to what: people (@), what is known of them by topic and aspect (◆), attributes (=),
facts (·), events (*), topics (#) and messages (“). Each row is a tie with its strength; what has
none says whose a thing is.

- **Enter** puts the node under the cursor into the middle; **b** goes back.
- **→** unfolds its own ties below it, **←** folds them.
- **o** opens the message that it stands for or rests on.
- **F2** looks up a node: a person, a topic, or `message 12`, `fact 5`.
- **p** pins a thing known. **x** shows what forgetting its message, or the person, would take away.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,slash", "find", "Look up", key_display="F2"),
        Binding("o", "message", "Message"),
        Binding("backspace,b", "back", "Back", key_display="b"),
        Binding("p", "pin", "Pin"),
        Binding("x,delete", "forget", "Forget"),
        Binding("escape", "leave", "Leave", show=False),
    ]

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._centre: Neighbourhood | None = None
        self._trail: list[Node] = []

    def body(self) -> ComposeResult:
        yield Input(placeholder="A person, a topic, or: message 12", id="node", compact=True)
        yield Static(id="centre")
        with Horizontal(id="graph"):
            yield GraphTree(id="ties")
            with VerticalScroll(id="target", can_focus=False):
                yield Static(id="says")

    def on_mount(self) -> None:
        self.tree_.focus()
        self.run_job("people", lambda job: self.memory.people(), self._begin)

    def _begin(self, people: tuple[PersonOverview, ...]) -> None:
        names = [one.person.name for one in people]
        suggester = SuggestFromList(names, case_sensitive=False) if names else None
        self.query_one("#node", Input).suggester = suggester
        if people:
            self.go_to(Node(NodeKind.PERSON, int(people[0].person.id)))
        else:
            self._centre = None
            self.tree_.clear()
            for name in ("#centre", "#says"):
                self.query_one(name, Static).update("")
            self.say(f"nothing is tied yet: press {PLACES['Import']}, and import a chat history")

    @property
    def tree_(self) -> GraphTree:
        return self.query_one(GraphTree)

    # --- The middle -------------------------------------------------------------------------

    def go_to(self, wanted: str | Node, *, keep: bool = True) -> None:
        """Put a node into the middle; `keep` remembers the one before."""

        def show(found: Neighbourhood) -> None:
            if keep and self._centre is not None and self._centre.centre.node != found.centre.node:
                self._trail.append(self._centre.centre.node)
            self._show(found)

        self.run_job("centre", lambda job: self.memory.neighbourhood(wanted), show)

    def _show(self, found: Neighbourhood) -> None:
        self._centre = found
        inks = inks_of(self.app)
        self.query_one("#centre", Static).update(centre_text(found, inks))
        self.tree_.show((), found)
        told = counted(len(found.edges), "tie")
        self.say(f"{told}, and {found.unshown:,} more" if found.unshown else told)
        if not found.edges:
            self.query_one("#says", Static).update(Text("tied to nothing", inks.dim))

    def refresh_content(self) -> None:
        """Read the middle anew; where it is gone, begin with the owner."""
        if self._centre is None:
            self.run_job("people", lambda job: self.memory.people(), self._begin)
            return
        node = self._centre.centre.node
        self.run_job(
            "centre",
            lambda job: self.memory.neighbourhood(node),
            self._show_anew,
            failed=self._gone,
        )

    def _show_anew(self, found: Neighbourhood) -> None:
        """What is unfolded stays where nothing changed; else the cursor goes to the same node."""
        if found == self._centre:  # its texts may have other inks
            self.query_one("#centre", Static).update(centre_text(found, inks_of(self.app)))
            self.when_rested(self._read_target)
            return
        kept = self.chosen
        self._show(found)
        if kept is not None:
            self.tree_.go_to(kept.node)

    def _gone(self, error: LocalMemError) -> None:
        if isinstance(error, RecordNotFoundError):
            self._centre = None
            self._trail.clear()
            self.refresh_content()
        else:
            self.fail(error)

    # --- What the cursor stands on ------------------------------------------------------------

    @property
    def chosen(self) -> GraphNode | None:
        branch = self.tree_.chosen
        return branch.edge.target if branch is not None else None

    def on_rows_highlighted(self, event: Rows.Highlighted) -> None:
        if self.query_one("#target").region.width:
            self.when_rested(self._read_target)

    def _read_target(self) -> None:
        chosen = self.chosen
        if chosen is not None:
            self.run_job("says", lambda job: self.memory.neighbourhood(chosen.node), self._say_node)

    def _say_node(self, found: Neighbourhood) -> None:
        inks = inks_of(self.app)
        text = Text.assemble((node_head(found.centre), inks.head))
        text.append(f"\n\n{wording.plain(found.text)}", inks.plain)
        if found.centre.note:
            text.append(f"\n\n{wording.flat(found.centre.note)}", inks.dim)
        if found.centre.message_id is not None:
            text.append(f"\n\no opens message {found.centre.message_id}", inks.dim)
        self.query_one("#says", Static).update(text)
        self.query_one("#target", VerticalScroll).scroll_home(animate=False)

    def on_graph_tree_wanted(self, event: GraphTree.Wanted) -> None:
        """Read the ties of a row that is unfolded."""
        self.run_job(
            "unfold",
            lambda job: self.memory.neighbourhood(event.node),
            lambda found: self.tree_.show(event.path, found),
        )

    # --- Keys -------------------------------------------------------------------------------

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        chosen = self.chosen
        if chosen is not None:
            self.go_to(chosen.node)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look up what stands in the line."""
        if event.value.strip():
            self.go_to(event.value)
            event.input.value = ""
            self.tree_.focus()

    def action_find(self) -> None:
        self.query_one("#node", Input).focus()

    def action_back(self) -> None:
        """The node that was in the middle before."""
        if self._trail:
            self.go_to(self._trail.pop(), keep=False)

    def action_leave(self) -> None:
        if isinstance(self.focused, Input):
            self.tree_.focus()
        else:
            self.action_back()

    def action_message(self) -> None:
        """The message of what the cursor stands on, in its session."""
        chosen = self.chosen
        if chosen is None or chosen.session_id is None:
            self.say("this rests on many messages: unfold it with →, and choose one", tone="warn")
            return
        words = wording.query_words(chosen.label) if chosen.node.kind in _ITEMS else ()
        self.app.push_screen(
            ReaderScreen(self.memory, chosen.session_id, at=chosen.message_id, words=words)
        )

    def action_pin(self) -> None:
        """Let the thing under the cursor stay, whatever messages say later."""
        chosen = self.chosen
        if chosen is None or chosen.node.kind not in _ITEMS:
            self.say("only attributes, facts and events are pinned", tone="warn")
            return
        number = ItemId(int(chosen.node.key))
        self.run_job(
            "order",
            lambda job: self.memory.pin(number),
            lambda history: self.app.notify(f"pinned: {history.subject}", markup=False),
        )

    def action_forget(self) -> None:
        """What would go with the message of a row, or with the person."""
        chosen = self.chosen
        if chosen is None:
            return
        if chosen.node.kind is NodeKind.PERSON:
            person = ParticipantId(int(chosen.node.key)), chosen.label
            self._ask_first(ForgetDialog(self.memory, choices_of(person=person)))
            return
        session_id, message = chosen.session_id, chosen.message_id
        if session_id is None:
            self.say("this rests on many messages: choose one", tone="warn")
            return

        def read(job: Job) -> SessionView:
            return self.memory.show(session_id)

        def ask_first(view: SessionView) -> None:
            choices = choices_of(message=message, session=view.session)
            self._ask_first(ForgetDialog(self.memory, choices))

        self.run_job("session", read, ask_first)

    def _ask_first(self, dialog: ForgetDialog) -> None:
        self.app.push_screen(dialog, lambda gone: self.refresh_content() if gone else None)


def node_head(one: GraphNode) -> str:
    """A node's kind and number, whose it is, and when it was said."""
    named = one.node.kind in (NodeKind.TOPIC, NodeKind.PERSON)
    name = wording.flat(one.label) if named else str(one.node.key)
    when = wording.moment(one.said_at) if one.said_at is not None else ""
    return ", ".join(part for part in (f"{one.node.kind} {name}", one.owner, when) if part)


def centre_text(found: Neighbourhood, inks: Inks) -> Text:
    """The node in the middle: what it is, and what it says."""
    text = Text.assemble((node_head(found.centre), inks.head))
    if found.centre.note:
        text.append(f"  {wording.flat(found.centre.note)}", inks.dim)
    said = wording.excerpt(found.text, (), characters=300)
    if said != wording.flat(found.centre.label) or found.centre.node.kind is not NodeKind.PERSON:
        text.append(f"\n{said}", inks.plain)
    return text
