"""Import: pick a file or folder, see what is in it, take it in, read what was skipped and why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from localmem_tui import wording
from localmem_tui.inks import Inks, inks_of
from localmem_tui.screens.base import MemoryScreen
from localmem_tui.screens.forget import ForgetDialog, choices_of
from localmem_tui.widgets.rows import Row, Rows
from localmem_tui.work import Job, StoppedError
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import DirectoryTree, Input, Static

from localmem.errors import LocalMemError
from localmem.memory import ImportOptions, Memory
from localmem.sample import sample_export
from localmem.types import ImportReport
from localmem.wording import counted

_SAMPLE = "sample"
_MOST_PROBLEMS = 200


class ExportTree(DirectoryTree):
    """Folders and files; hidden ones and those of a memory are left out."""

    def filter_paths(self, paths: Iterable[Path]) -> Iterable[Path]:
        return [
            path
            for path in paths
            if not path.name.startswith(".") and ".duckdb" not in path.suffixes
        ]


class ImportScreen(MemoryScreen):
    """A path, a preview, a report; and the imports so far."""

    NAME = "Import"
    HELP = """\
Give a file, a folder or a zip: type its path, or pick it in the tree. `sample` is the shipped
history of an invented person.

- **Enter** on a path looks into it and says what an import would add; nothing is stored yet.
- **F2** takes it in. **F3** takes it in and leaves vectors for later, which is much faster; Health
  makes them then. **Esc** stops; what is stored is whole, and the same import goes on there.
- **F4** goes to the imports so far; **x** there shows what taking one back would take away.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "take_in", "Import"),
        Binding("f3", "take_in(True)", "Import, vectors later"),
        Binding("f4", "imports", "Imports"),
        Binding("x,delete", "forget", "Forget"),
        Binding("escape", "leave", "Stop", show=False),
    ]

    def __init__(self, memory: Memory, *, start: Path | None = None) -> None:
        super().__init__(memory)
        self._start = start or Path.home()
        self._is_importing = False

    def body(self) -> ComposeResult:
        yield Input(placeholder="Path of an export: file, folder or zip; or: sample", id="path")
        with Horizontal(id="import"):
            yield ExportTree(self._start, id="tree")
            with Vertical(id="outcome"):
                with VerticalScroll(id="report"):
                    yield Static(id="told")
                yield Rows(self._draw, id="imports")

    def on_mount(self) -> None:
        self.query_one("#imports").border_title = "Imports so far"
        self.query_one("#path", Input).focus()
        self._say_report(
            Text(
                "An export of ChatGPT or Claude is a zip that they mail you; give it as it is.\n"
                "Type its path above, or pick it in the tree with Tab, ↑ ↓ and Enter.\n"
                "No export at hand? Type: sample",
                inks_of(self.app).dim,
            )
        )
        self.refresh_content()

    def refresh_content(self) -> None:
        self.run_job("imports", lambda job: self.memory.imports(), self._show_imports)

    def _show_imports(self, imports: tuple[ImportReport, ...]) -> None:
        self.query_one("#imports", Rows).set_rows([Row(one, 2) for one in imports])

    # --- Looking ----------------------------------------------------------------------------

    def on_directory_tree_file_selected(self, event: DirectoryTree.FileSelected) -> None:
        self._pick(event.path)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Look into what stands in the line."""
        if event.value.strip():
            self.look(export_path(event.value))

    def _pick(self, path: Path) -> None:
        self.query_one("#path", Input).value = str(path)
        self.look(path)

    def look(self, path: Path) -> None:
        """Say what an import would add; stores nothing."""
        if self._is_importing:
            self._say_it_runs()
            return
        self.run_job(
            "import",
            lambda job: self.memory.plan_import(path, on_progress=job.tell),
            lambda report: self._show_plan(path, report),
            words=f"looking into {path.name}",
            failed=self._failed,
        )

    def _show_plan(self, path: Path, report: ImportReport) -> None:
        inks = inks_of(self.app)
        text = report_text(report, inks, planned=True)
        text.append("\n\nF2", inks.head)
        text.append(" takes it in, ", inks.plain)
        text.append("F3", inks.head)
        text.append(" does so and leaves vectors for later.", inks.plain)
        self._say_report(text)

    # --- Taking in --------------------------------------------------------------------------

    def action_take_in(self, later: bool = False) -> None:
        """Import what stands in the line; a look into it ends for that."""
        line = self.query_one("#path", Input).value
        if self._is_importing:
            self._say_it_runs()
            return
        if not line.strip():
            return
        path = export_path(line)

        def take_in(job: Job) -> ImportReport:
            options = ImportOptions(later=later)
            return self.memory.import_(path, options, on_progress=job.tell)

        self._is_importing = True
        self.run_job(
            "import",
            take_in,
            self._show_report,
            words=f"importing {path.name}",
            failed=self._failed,
        )

    def _say_it_runs(self) -> None:
        self.say("an import runs: Esc stops it", tone="warn")

    def _show_report(self, report: ImportReport) -> None:
        self._is_importing = False
        self._say_report(report_text(report, inks_of(self.app), planned=False))
        self.say("imported · 1 to search, 2 to ask")
        self.refresh_content()

    def _failed(self, error: LocalMemError) -> None:
        self._is_importing = False
        if isinstance(error, StoppedError):
            told = "Stopped. What was stored is whole; the same import goes on where it stopped."
            self._say_report(Text(told, inks_of(self.app).warn))
            self.refresh_content()
            return
        inks = inks_of(self.app)
        self._say_report(Text.assemble((error.message, inks.bad), (f"\n{error.hint}", inks.plain)))

    # --- Keys -------------------------------------------------------------------------------

    def action_imports(self) -> None:
        self.query_one("#imports", Rows).focus()

    def action_leave(self) -> None:
        """Stop the import, else leave the line."""
        if self.stop_jobs():
            self.say("stopping at the next step …")
        elif isinstance(self.focused, Input):
            self.query_one("#tree").focus()

    def action_forget(self) -> None:
        """What would go with the import under the cursor."""
        report = self.query_one("#imports", Rows).value
        if isinstance(report, ImportReport) and report.import_id is not None and not report.undone:
            dialog = ForgetDialog(self.memory, choices_of(import_id=report.import_id))
            self.app.push_screen(dialog, lambda gone: self.refresh_content() if gone else None)

    def _say_report(self, text: Text) -> None:
        self.query_one("#told", Static).update(text)
        self.query_one("#report", VerticalScroll).scroll_home(animate=False)

    def _draw(self, value: object, width: int) -> Sequence[Text]:
        if not isinstance(value, ImportReport):
            return ()
        inks = inks_of(self.app)
        state = " taken back" if value.undone else "" if value.complete else " interrupted"
        return [
            Text.assemble(
                (f" {value.import_id} ", inks.accent),
                (f"{wording.moment(value.started_at)}  {value.source}", inks.plain),
                (state, inks.warn),
            ),
            Text(
                f"   {counted(value.messages_added, 'message')} · "
                f"{wording.flat(Path(value.path).name)}",
                inks.dim,
            ),
        ]


def export_path(line: str) -> Path:
    """The path that a line means; "sample" is the shipped history where no such file is."""
    text = line.strip().strip("'\"")
    path = Path(text)
    with contextlib.suppress(RuntimeError):  # a "~name" that nobody has: there is no such file
        path = path.expanduser()
    return sample_export() if text == _SAMPLE and not path.exists() else path


def report_text(report: ImportReport, inks: Inks, *, planned: bool) -> Text:
    """What an import did or would do, and what was skipped and why."""
    if planned:
        new = f"{counted(report.messages_added, 'message')} would be added"
    else:
        new = counted(report.messages_added, "message was added", "messages were added")
    text = Text.assemble(
        (f"{report.source}", f"bold {inks.plain}"),
        (f"  {wording.flat(report.path)}\n\n", inks.dim),
        (new, inks.good if report.messages_added else inks.plain),
        (
            f": {counted(report.conversations_added, 'new conversation')}, "
            f"{counted(report.conversations_grown, 'grown one')}\n"
            f"{counted(report.messages_known, 'message')} known already",
            inks.plain,
        ),
    )
    if report.messages_forgotten:
        out = counted(
            report.messages_forgotten,
            "message was forgotten and stays out",
            "messages were forgotten and stay out",
        )
        text.append(f"\n{out}", inks.warn)
    if report.without_time:
        timeless = counted(report.without_time, "message has no time", "messages have no time")
        text.append(f"\n{timeless}", inks.warn)
    if report.problems:
        text.append(f"\n\n{len(report.problems):,} skipped:", inks.warn)
    for problem in report.problems[:_MOST_PROBLEMS]:
        text.append(f"\n  {wording.flat(problem.place)}: {wording.flat(problem.reason)}", inks.dim)
    if len(report.problems) > _MOST_PROBLEMS:
        text.append(f"\n  and {len(report.problems) - _MOST_PROBLEMS:,} more", inks.dim)
    return text
