"""People: who is in the memory, what is known of each, with its history, and how to mend it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import inks_of
from localmem_tui.known import (
    change_words,
    correction_words,
    item_line,
    person_text,
    snapshot_line,
    sources_text,
)
from localmem_tui.screens.base import PLACES, MemoryScreen
from localmem_tui.screens.dialogs import Field, FormDialog
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.screens.reader import ReaderScreen
from localmem_tui.widgets.rows import Row, Rows
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Static

from localmem.errors import LocalMemError, UsageError
from localmem.participants.known import describe_item
from localmem.types import (
    Item,
    ItemHistory,
    ItemId,
    ItemSources,
    Persona,
    PersonaLine,
    PersonaSnapshot,
    PersonOverview,
    PersonView,
    SessionId,
    SplitChoice,
)
from localmem.wording import counted


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing known, in words."""

    id: ItemId
    words: str


def thing_of(value: object) -> Thing | None:
    """What a row of the known things stands for; the first item of a persona's line."""
    if isinstance(value, Item):
        return Thing(value.id, describe_item(value))
    if isinstance(value, PersonaLine) and value.item_ids:
        return Thing(value.item_ids[0], value.text)
    return None


def persona_rows(persona: Persona) -> list[Row]:
    """Aspects and topics, each with what it tells."""
    rows: list[Row] = []
    for snapshot in (*persona.aspects, *persona.topics):
        rows.append(Row(snapshot, is_heading=True))
        rows += [Row(line) for line in (*snapshot.descriptors, *snapshot.lines)]
    return rows


class PeopleScreen(MemoryScreen):
    """People on the left; of one of them names, what is known, and each thing's history."""

    NAME = "People"
    HELP = """\
Who speaks in this memory, and what is known of them. What holds now stands first.

- **Enter** goes to what is known; there the history of the thing under the cursor stands below
  it, with dates and reasons. **Enter** again opens the message that it rests on.
- **F2** looks up what is known of a thing ("rent", "job"), with what no longer holds.
- **F3** shows their persona: what is known by aspect and topic, or what holds again.
- **c** says what is so instead, **r** lets a thing count no more, **p** pins it.
- On a person: **m** makes two names one person, **s** makes one name two people (or takes a
  merge back), **a** gives one more name.
- **x** shows what forgetting the person would take away.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2,slash", "topic", "Look up", key_display="F2"),
        Binding("f3", "persona", "Persona"),
        Binding("c", "correct", "Correct"),
        Binding("r", "retire", "Retire"),
        Binding("p", "pin", "Pin"),
        Binding("m", "merge", "Merge"),
        Binding("s", "split", "Split"),
        Binding("a", "alias", "Alias"),
        Binding("x,delete", "forget", "Forget"),
        Binding("escape", "leave", "Back", show=False),
    ]

    def body(self) -> ComposeResult:
        with Horizontal(id="people"):
            yield Rows(self._draw_person, id="everybody")
            with Vertical(id="person"):
                yield Static(id="who")
                yield Input(placeholder="Look up: a thing, and Enter", id="topic", compact=True)
                yield Rows(self._draw_item, id="known")
                with VerticalScroll(id="history", can_focus=False):
                    yield Static(id="versions")

    def on_mount(self) -> None:
        self._sources: ItemSources | None = None
        self._shows_persona = False
        self.query_one("#history").border_title = "History"
        self.query_one("#everybody", Rows).focus()
        self.refresh_content()

    def refresh_content(self) -> None:
        self.run_job("people", lambda job: self.memory.people(), self._show_people)

    # --- What is shown ----------------------------------------------------------------------

    def _show_people(self, people: tuple[PersonOverview, ...]) -> None:
        rows = self.query_one("#everybody", Rows)
        kept = rows.value
        rows.set_rows([Row(one, 2) for one in people], at=_same_person(kept))
        if people:
            self.say(counted(len(people), "person", "people"))
        else:
            self.query_one("#known", Rows).set_rows(())
            self.query_one("#who", Static).update("")
            self.query_one("#versions", Static).update("")
            self.say(f"nobody yet: press {PLACES['Import']}, and import a chat history")

    def _read_person(self) -> None:
        one = self.chosen_person
        if one is None:
            return
        name = str(one.person.id)
        if self._shows_persona:
            self.run_job(
                "person",
                lambda job: (self.memory.person(name), self.memory.persona(name)),
                lambda found: self._show_known(found[0], persona_rows(found[1])),
            )
        else:
            self.run_job(
                "person",
                lambda job: self.memory.person(name),
                lambda view: self._show_known(view, [Row(item) for item in view.known]),
            )

    def _show_known(self, view: PersonView, known: Sequence[Row]) -> None:
        inks = inks_of(self.app)
        self.query_one("#who", Static).update(person_text(view, inks))
        rows = self.query_one("#known", Rows)
        kept = thing_of(rows.value)
        rows.set_rows(known, at=lambda value: kept is not None and thing_of(value) == kept)
        if not known:
            self._sources = None
            self.query_one("#versions", Static).update(Text("nothing is known of them", inks.dim))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Show what is known of a thing; an empty line shows what holds of the person."""
        one, topic = self.chosen_person, event.value.strip()
        if not topic or one is None:
            self._read_person()
            return
        # The owner is "I" in what they say: their name would only narrow it.
        wanted = topic if one.person.is_owner else f"{one.person.name} {topic}"
        self.run_job("person", lambda job: self.memory.history(wanted), self._show_histories)

    def _show_histories(self, histories: tuple[ItemHistory, ...]) -> None:
        rows = self.query_one("#known", Rows)
        rows.set_rows([Row(history.versions[-1]) for history in histories if history.versions])
        if rows.values:
            rows.focus()
        else:
            self.say("nothing is known of that", tone="warn")

    def action_topic(self) -> None:
        self.query_one("#topic", Input).focus()

    def action_persona(self) -> None:
        """What is known by aspect and topic, or what holds."""
        self._shows_persona = not self._shows_persona
        self._read_person()

    def _read_item(self) -> None:
        thing = self.chosen_thing
        if thing is not None:
            self.run_job("why", lambda job: self.memory.why(thing.id), self._show_sources)

    def _show_sources(self, sources: ItemSources) -> None:
        self._sources = sources
        self.query_one("#versions", Static).update(sources_text(sources, inks_of(self.app)))
        self.query_one("#history", VerticalScroll).scroll_home(animate=False)

    @property
    def chosen_person(self) -> PersonOverview | None:
        value = self.query_one("#everybody", Rows).value
        return value if isinstance(value, PersonOverview) else None

    @property
    def chosen_thing(self) -> Thing | None:
        return thing_of(self.query_one("#known", Rows).value)

    # --- Keys -------------------------------------------------------------------------------

    def on_rows_highlighted(self, event: Rows.Highlighted) -> None:
        if event.rows.id == "everybody":
            self._read_person()
        else:
            self._read_item()

    def on_rows_chosen(self, event: Rows.Chosen) -> None:
        """From a person to what is known; from there to the message that it rests on."""
        if event.rows.id == "everybody":
            self.query_one("#known", Rows).focus()
            return
        sources, thing = self._sources, self.chosen_thing
        if sources is None or thing is None or sources.item.id != thing.id or not sources.messages:
            return
        found = sources.messages[-1]
        words = wording.query_words(thing.words)
        screen = ReaderScreen(self.memory, found.session, at=found.message.id, words=words)
        self.app.push_screen(screen)

    def action_leave(self) -> None:
        if self.stop_jobs():
            return
        topic = self.query_one("#topic", Input)
        if topic.value:
            topic.value = ""
            self._read_person()
        self.query_one("#everybody", Rows).focus()

    def action_correct(self) -> None:
        """Say what is so, instead of the thing under the cursor or of what it is about."""
        thing = self.chosen_thing if self.focused is self.query_one("#known", Rows) else None
        shown = f"instead of: {thing.words}" if thing else "what is so, in a sentence"
        field = Field("text", shown, placeholder="I live in Bergen. / Ana works at Globex.")

        def correct(lines: dict[str, str]) -> str:
            done = self.memory.correct(lines["text"], instead_of=thing.id if thing else None)
            return correction_words(done)

        self._ask_for("Correct", [field], correct)

    def action_retire(self) -> None:
        """Let the thing under the cursor count no more."""
        self._order(self.memory.retire, "retired")

    def action_pin(self) -> None:
        """Let the thing under the cursor stay, whatever messages say later."""
        self._order(self.memory.pin, "pinned")

    def _order(self, order: Callable[..., ItemHistory], done: str) -> None:
        thing = self.chosen_thing
        if thing is None:
            return

        def told(history: ItemHistory) -> None:
            self.refresh_content()
            self.app.notify(f"{done}: {history.subject}", markup=False)

        self.run_job("order", lambda job: order(thing.id), told)

    def action_merge(self) -> None:
        """Make two names one person."""
        one = self.chosen_person
        if one is None:
            return
        name, number = one.person.name, str(one.person.id)
        others = tuple(other for other in self._names() if other != name)
        field = Field("other", f"who is also {name}", suggestions=others)
        self._ask_for(
            f"Merge into {wording.flat(name)}",
            [field],
            lambda lines: change_words(self.memory.merge_people(number, _said(lines["other"]))),
            explanation="Their messages go over. Split with the same name takes it back.",
        )

    def action_split(self) -> None:
        """Make one name two people."""
        one = self.chosen_person
        if one is None:
            return
        name, number = one.person.name, str(one.person.id)
        fields = [
            Field("new", "who the other one is", suggestions=one.absorbed),
            Field("sessions", "in which sessions they speak", placeholder="12 14, or none"),
        ]

        def split(lines: dict[str, str]) -> str:
            choice = SplitChoice(sessions=session_numbers(lines["sessions"]))
            return change_words(self.memory.split_person(number, choice, _said(lines["new"])))

        self._ask_for(
            f"Split {wording.flat(name)}",
            fields,
            split,
            explanation="Without sessions, a merge with that name is taken back.",
        )

    def action_alias(self) -> None:
        """Give one more name."""
        one = self.chosen_person
        if one is None:
            return
        name, number = one.person.name, str(one.person.id)

        def alias(lines: dict[str, str]) -> str:
            person = self.memory.add_alias(number, _said(lines["alias"]))
            return f"{person.name} is known as {', '.join((person.name, *person.aliases))}"

        self._ask_for(f"One more name for {wording.flat(name)}", [Field("alias", "name")], alias)

    def action_forget(self) -> None:
        """What would go with the person under the cursor."""
        one = self.chosen_person
        if one is not None:
            choices = choices_of(person=(one.person.id, one.person.name))
            dialog = ForgetDialog(self.memory, choices)
            self.app.push_screen(dialog, lambda gone: self.refresh_content() if gone else None)

    def _ask_for(
        self,
        title: str,
        fields: Sequence[Field],
        action: Callable[[dict[str, str]], str],
        *,
        explanation: str = "",
    ) -> None:
        def told(words: str | None) -> None:
            if words:
                self.refresh_content()
                self.app.notify(words, markup=False)

        dialog = FormDialog(title, fields, action, explanation=explanation)
        self.app.push_screen(dialog, told)

    def _names(self) -> tuple[str, ...]:
        values = self.query_one("#everybody", Rows).values
        return tuple(one.person.name for one in values if isinstance(one, PersonOverview))

    # --- Drawing ----------------------------------------------------------------------------

    def _draw_person(self, value: object, width: int) -> Sequence[Text]:
        if not isinstance(value, PersonOverview):
            return ()
        inks, person = inks_of(self.app), value.person
        mark = "  owner" if person.is_owner else "  assistant" if person.is_assistant else ""
        return [
            Text.assemble((f" {wording.flat(person.name)}", inks.head), (mark, inks.accent)),
            Text(
                f"   {value.messages:,} in {counted(value.sessions, 'session')}",
                inks.dim,
            ),
        ]

    def _draw_item(self, value: object, width: int) -> Sequence[Text]:
        inks = inks_of(self.app)
        if isinstance(value, PersonaSnapshot):
            return [snapshot_line(value, inks)]
        if isinstance(value, PersonaLine):
            return [Text(f"   {wording.flat(value.text)}", inks.plain)]
        return [item_line(value, inks)] if isinstance(value, Item) else ()


def session_numbers(text: str) -> tuple[SessionId, ...]:
    """Numbers of sessions, with spaces or commas between.

    Raises:
        UsageError: something else stands there.
    """
    words = text.replace(",", " ").split()
    if not all(word.isdigit() for word in words):
        raise UsageError(f"'{text}' are no session numbers", hint="12 14")
    return tuple(SessionId(int(word)) for word in words)


def _said(text: str) -> str:
    if not text:
        raise LocalMemError("there is no name", hint="type one, or press Esc")
    return text


def _same_person(kept: object) -> Callable[[object], bool]:
    def is_same(other: object) -> bool:
        return (
            isinstance(kept, PersonOverview)
            and isinstance(other, PersonOverview)
            and kept.person.id == other.person.id
        )

    return is_same
