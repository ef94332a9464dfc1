"""Models: what there is, what is here, what fits this machine; pull, check, use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import Inks, inks_of
from localmem_tui.pulling import pull
from localmem_tui.screens.base import MemoryScreen
from localmem_tui.screens.dialogs import Field, FormDialog
from localmem_tui.widgets.rows import Row, Rows
from localmem_tui.work import Job
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Static

from localmem.errors import UsageError
from localmem.modelstore import SelfTestResult
from localmem.shelf import ShelfEntry
from localmem.types import ModelRole

_KINDS = {"llm": "language models", "embedder": "embedders"}


class ModelsScreen(MemoryScreen):
    """The catalog on the left, the model under the cursor on the right."""

    NAME = "Models"
    HELP = """\
The models of the catalog: which are here, which are in use, which fit this machine's memory.

- **d** fetches the one under the cursor, in a process of its own: the app itself stays offline.
- **c** verifies it and finds out on this machine what it can be trusted with (a minute or so).
- **u** makes it the one in use; **o** only for one role (layers, controller, notes, answer).
  A change is taken up when localmem starts next; another embedder needs Health → reindex then.
- **Esc** stops a download or a check.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("d", "pull", "Download"),
        Binding("c", "check", "Check"),
        Binding("u", "use", "Use"),
        Binding("o", "role", "Use for a role"),
        Binding("escape", "leave", "Stop", show=False),
    ]

    def body(self) -> ComposeResult:
        with Horizontal(id="models"):
            yield Rows(self._draw, id="catalog")
            with VerticalScroll(id="about", can_focus=False):
                yield Static(id="model")

    def on_mount(self) -> None:
        self._verdicts: dict[str, Text] = {}
        self.query_one("#catalog", Rows).focus()
        self.refresh_content()

    def refresh_content(self) -> None:
        self.run_job("models", lambda job: self.memory.shelf.entries(), self._show_entries)

    def _show_entries(self, entries: tuple[ShelfEntry, ...]) -> None:
        rows: list[Row] = []
        for kind, title in _KINDS.items():
            rows.append(Row(title, is_heading=True))
            rows += [Row(entry, 2) for entry in entries if entry.kind == kind]
        catalog = self.query_one("#catalog", Rows)
        catalog.set_rows(rows, at=_same_model(catalog.value))
        self._show_about()
        memory_mb = self.memory.shelf.machine_memory_mb()
        if memory_mb is not None:
            self.say(f"this machine has {memory_mb / 1024:.1f} GB of memory")

    @property
    def chosen(self) -> ShelfEntry | None:
        value = self.query_one("#catalog", Rows).value
        return value if isinstance(value, ShelfEntry) else None

    def on_rows_highlighted(self) -> None:
        self._show_about()

    def _show_about(self) -> None:
        entry = self.chosen
        if entry is None:
            return
        inks = inks_of(self.app)
        text = Text.assemble(
            (f"{entry.title}\n", f"bold {inks.plain}"),
            (f"{entry.name} · {entry.licence}\n\n", inks.dim),
            (f"{entry.for_whom}\n\n", inks.plain),
            (f"download {wording.size(entry.bytes)}, memory {entry.memory_mb:,} MB\n", inks.plain),
        )
        if not entry.fits:
            text.append("It needs more memory than this machine can spare.\n", inks.warn)
        text.append("\n")
        text.append_text(self._verdicts.get(entry.name, Text("c checks it", inks.dim)))
        self.query_one("#model", Static).update(text)

    # --- Keys -------------------------------------------------------------------------------

    def action_pull(self) -> None:
        """Fetch the model under the cursor."""
        entry = self.chosen
        if entry is not None and not self.runs("model"):
            self.run_job(
                "model",
                lambda job: pull(entry.name, job),
                self._told,
                words=f"fetching {entry.name}",
            )

    def action_check(self) -> None:
        """Verify the language model under the cursor and let it sit its test."""
        entry = self.chosen
        if entry is None or self.runs("model"):
            return
        if entry.kind != "llm":
            self.run_job(
                "model",
                lambda job: self.memory.shelf.verify(entry.name),
                lambda done: self._told(f"{entry.name}: the files are as the catalog says"),
                words=f"verifying {entry.name}",
            )
            return

        def done(verdict: Text) -> None:
            self._verdicts[entry.name] = verdict
            self._show_about()
            self.say(f"{entry.name} is checked")

        inks = inks_of(self.app)

        def test(job: Job) -> Text:
            return verdict_text(self.memory.shelf.check(entry.name, on_progress=job.tell), inks)

        self.run_job("model", test, done, words=f"testing {entry.name}")

    def action_use(self) -> None:
        """Make the model under the cursor the one in use."""
        entry = self.chosen
        if entry is not None:
            self.run_job("use", lambda job: self.memory.shelf.use(entry.name), self._told)

    def action_role(self) -> None:
        """Make the model under the cursor the one of a role."""
        entry = self.chosen
        if entry is None:
            return
        roles = tuple(str(role) for role in ModelRole)
        field = Field("role", " / ".join(roles), suggestions=roles)

        def use(lines: dict[str, str]) -> str:
            return self.memory.shelf.use(entry.name, role=role_named(lines["role"]))

        dialog = FormDialog(f"Use {entry.name} for", [field], use)
        self.app.push_screen(dialog, lambda words: self._told(words) if words else None)

    def _told(self, words: str) -> None:
        self.app.notify(words, markup=False)
        self.refresh_content()

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        inks = inks_of(self.app)
        if isinstance(value, str):
            return [Text(f"{value} ".ljust(width, "─"), inks.accent)]
        if not isinstance(value, ShelfEntry):
            return ()
        state, ink = _state(value), inks.good if value.present else inks.dim
        fits = ("fits this machine", inks.dim) if value.fits else ("too large here", inks.warn)
        return [
            Text.assemble((f" {value.name:16}", inks.head), (state, ink)),
            Text.assemble(
                (f"   {wording.size(value.bytes)} · {value.memory_mb:,} MB of memory · ", inks.dim),
                fits,
            ),
        ]


def verdict_text(result: SelfTestResult, inks: Inks) -> Text:
    """The verdicts of a self-test, and the model's speed here."""
    text = Text("what it can be trusted with here:\n", inks.plain)
    for verdict in result.verdicts:
        mark, ink = ("✓", inks.good) if verdict.passed else ("✗", inks.warn)
        text.append(f" {mark} {verdict.name}", ink)
        text.append(f"  {verdict.right} of {verdict.items}, wanted {verdict.mark}\n", inks.dim)
    text.append(
        f"reads {result.prefill_tokens_per_s:.0f} and writes {result.decode_tokens_per_s:.0f} "
        "tokens a second\n",
        inks.plain,
    )
    return text


def role_named(name: str) -> ModelRole:
    """The role of this name.

    Raises:
        UsageError: there is none.
    """
    if name not in tuple(ModelRole):
        raise UsageError(f"no role is called '{name}'", hint=", ".join(ModelRole))
    return ModelRole(name)


def _state(entry: ShelfEntry) -> str:
    if entry.in_use:
        return "in use" if entry.present else "in use, not here"
    return "here" if entry.present else ""


def _same_model(kept: object) -> Callable[[object], bool]:
    def is_same(other: object) -> bool:
        return (
            isinstance(kept, ShelfEntry)
            and isinstance(other, ShelfEntry)
            and kept.name == other.name
        )

    return is_same
