"""How results look in a terminal. Text from chats is printed as text, never as markup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from localmem.types import (
    Answer,
    Citation,
    ErasureReceipt,
    ExportReport,
    Finding,
    FoundMessage,
    ImportReport,
    LastingEntry,
    Layer,
    MemoryStats,
    Message,
    ResolvedDate,
    SearchResult,
    Session,
    SessionView,
    Trace,
    TraceStep,
    TurnNote,
    Verdict,
    WorkReport,
)
from localmem.wording import counted, erased_rows

if TYPE_CHECKING:
    from rich.console import Console

    from localmem.modelstore import SelfTestResult
    from localmem.shelf import ShelfEntry

_EXCERPT_CHARACTERS = 320
_CONTROLS = {c: 0x2400 + c for c in range(32) if chr(c) not in "\n\t"} | {
    127: 0x2421,
    **dict.fromkeys((*range(128, 160), 0x061C, 0x200E, 0x200F), 0xFFFD),
    **dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
}
"""What a terminal would obey, as pictures of itself: also what turns the direction of text."""
_VERDICT_STYLE = {Verdict.OK: "green", Verdict.NOTICE: "yellow", Verdict.PROBLEM: "red"}


def import_report(console: Console, report: ImportReport, *, dry_run: bool) -> None:
    """What an import did, or would do."""
    verb = "would add" if dry_run else "added"
    console.print(
        f"{report.source}: {verb} {counted(report.messages_added, 'message')} in "
        f"{report.conversations_added:,} new and "
        f"{counted(report.conversations_grown, 'grown conversation')}; "
        f"{counted(report.messages_known, 'message was known', 'messages were known')}"
    )
    if report.messages_forgotten:
        stay_out = "messages were forgotten and stay out"
        told = counted(report.messages_forgotten, "message was forgotten and stays out", stay_out)
        console.print(f"{told} (without --allow-again)", style="yellow")
    if report.without_time:
        told = counted(report.without_time, "message has no time", "messages have no time")
        console.print(told, style="yellow")
    for problem in report.problems[:20]:
        line = plain(f"skipped {problem.place}: {problem.reason}")
        console.print(Text(line, style="yellow"))
    if len(report.problems) > 20:
        left = counted(len(report.problems) - 20, "more was skipped", "more were skipped")
        console.print(f"and {left}", style="yellow")
    if report.import_id is not None:
        console.print(f"import {report.import_id}", style="dim")


def import_table(console: Console, reports: Sequence[ImportReport]) -> None:
    """All imports."""
    if not reports:
        console.print("nothing is imported yet: localmem import EXPORT")
        return
    table = _table("id", "when", "source", "file", "conversations", "messages", "")
    for report in reports:
        state = "undone" if report.undone else "" if report.complete else "incomplete"
        table.add_row(
            str(report.import_id),
            moment(report.started_at),
            report.source,
            Text(report.path),
            f"{report.conversations_added:,}",
            f"{report.messages_added:,}",
            state,
        )
    console.print(table)


def receipt(console: Console, erased: ErasureReceipt) -> None:
    """What an undo or a forgetting took out of the file."""
    console.print(f"erased: {erased_rows(erased)}")
    console.print(
        f"the file was written anew: {erased.bytes_before:,} bytes before, "
        f"{erased.bytes_after:,} after",
        style="dim",
    )


def session_table(
    console: Console, sessions: Sequence[Session], *, source: str | None = None
) -> None:
    """Sessions, one a line."""
    if not sessions:
        none = f"no sessions from the source {source!r}" if source else "no sessions yet"
        console.print(f"{none}: localmem import EXPORT")
        return
    table = _table("session", "when", "source", "title", "messages")
    for session in sessions:
        table.add_row(
            str(session.id),
            moment(session.started_at),
            session.source,
            Text(plain(session.title)),
            f"{session.message_count:,}",
        )
    console.print(table)


def session_view(console: Console, view: SessionView) -> None:
    """A session at one layer."""
    session = view.session
    console.print(Text(plain(session.title), style="bold"))
    console.print(
        f"session {session.id}, {session.source}, {moment(session.started_at)}", style="dim"
    )
    if view.layer is Layer.SUMMARY:
        for summary in view.summaries:
            console.print(Text(plain(f"\n{summary.sentence}")))
            console.print(Text(plain(", ".join(summary.keywords)), style="dim"))
        return
    if view.layer in (Layer.FACTS, Layer.NOTES):
        _told_lines(console, view)
        return
    for message in view.messages:
        console.print(_message_text(message, view.dates.get(message.id, ())))


def export_report(console: Console, report: ExportReport) -> None:
    """What an export wrote."""
    console.print(
        f"{counted(report.sessions, 'session')} in {report.folder}: {report.written:,} written, "
        f"{report.unchanged:,} unchanged, {report.removed:,} removed"
    )
    if report.by_rule:
        console.print(
            f"facts and notes of {counted(report.by_rule, 'session')} are made by rule; "
            "--make lets the language model make them",
            style="dim",
        )


def search_result(console: Console, result: SearchResult) -> None:
    """Found messages, best first."""
    _notices(console, result.notices)
    if not result.found:
        console.print("nothing found")
        return
    for rank, found in enumerate(result.found, start=1):
        console.print(_found_text(rank, found))
    console.print(
        f"\n{counted(len(result.found), 'message')} in {result.seconds * 1000:.0f} ms, "
        f"mode {result.mode}",
        style="dim",
    )


def answer_view(console: Console, answer: Answer, *, trace: bool, streamed: bool) -> None:
    """An answer, its citations and, where wanted, its trace.

    `streamed` says that the text stands on the screen already, as the model wrote it.
    """
    if not streamed:
        console.print(Text(plain(answer.text), style="bold"))
    for number, citation in enumerate(answer.citations, start=1):
        console.print(_citation_text(number, citation))
    for wish in answer.wishes:
        console.print(_wish_text(wish))
    _notices(console, answer.notices)
    if not answer.complete:
        console.print("stopped by the budget: this answer may be incomplete", style="yellow")
    found = answer.trace
    console.print(
        f"{found.depth}, {found.sessions_opened} of {counted(found.sessions_total, 'session')} "
        "opened, "
        f"{found.seconds:.1f} s, {found.model_id or 'no model'}",
        style="dim",
    )
    if trace:
        _trace_view(console, found)


def work_report(console: Console, report: WorkReport) -> None:
    """What was derived."""
    console.print(
        f"made {counted(report.summaries_made, 'summary', 'summaries')} and "
        f"{counted(report.vectors_made, 'vector')} in {report.seconds:.1f} s; open: "
        f"{counted(report.summaries_open, 'summary', 'summaries')}, "
        f"{counted(report.vectors_open, 'vector')}"
    )
    if report.pages_placed:
        console.print(f"placed {counted(report.pages_placed, 'page')} in episodes")


def stats_table(console: Console, stats: MemoryStats) -> None:
    """Numbers with their names."""
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for field in fields(stats):
        table.add_row(field.name.replace("_", " "), _number(getattr(stats, field.name)))
    console.print(table)


def model_table(console: Console, entries: Sequence[ShelfEntry]) -> None:
    """The catalog: what is here, what is in use."""
    table = _table("model", "kind", "size", "memory", "licence", "", "for")
    for entry in entries:
        state = "in use" if entry.in_use else "here" if entry.present else ""
        if entry.in_use and not entry.present:
            state = "in use, not here"
        if not entry.fits:
            state = f"{state}, too large here".lstrip(", ")
        size, memory = f"{entry.bytes / 1e6:,.0f} MB", f"{entry.memory_mb:,} MB"
        table.add_row(entry.name, entry.kind, size, memory, entry.licence, state, entry.for_whom)
    console.print(table)


def findings_list(console: Console, findings: Sequence[Finding]) -> None:
    """The lines of doctor."""
    for finding in findings:
        style = _VERDICT_STYLE[finding.verdict]
        line = Text.assemble(
            (f"{finding.verdict.value:8}", style), (f"{finding.subject}: ", "bold"), finding.detail
        )
        console.print(line)
        if finding.cure:
            console.print(Text(f"        {finding.cure}", style="dim"))


def _told_lines(console: Console, view: SessionView) -> None:
    """Facts, or notes under their messages' turns."""
    _notices(console, view.notices)
    turns = {m.id: m.turn_id for m in view.messages}
    numbers = {turn: number for number, turn in enumerate(dict.fromkeys(turns.values()), start=1)}
    shown = 0
    for told in view.notes or view.facts:
        if isinstance(told, TurnNote) and numbers.get(turns[told.message_id], 0) != shown:
            shown = numbers[turns[told.message_id]]
            console.print(Text(f"\nTurn {shown}", style="dim"))
        line = Text(plain(f"- {told.text}"))
        if told.missing:
            line.append(plain(f"  (not in its messages: {', '.join(told.missing)})"), "yellow")
        console.print(line)
    if not (view.notes or view.facts):
        console.print("nothing in this session tells a fact", style="dim")


def _number(value: object) -> Text:
    if isinstance(value, datetime):
        return Text(moment(value))
    return Text(f"{value:,}" if isinstance(value, int) else str(value if value else "none"))


def check_report(console: Console, result: SelfTestResult) -> None:
    """The verdicts of a self-test."""
    table = _table("test", "verdict", "right", "mark")
    for verdict in result.verdicts:
        style = "green" if verdict.passed else "yellow"
        shown = Text("passed" if verdict.passed else "not passed", style=style)
        right = f"{verdict.right} of {verdict.items}"
        table.add_row(verdict.name, shown, right, str(verdict.mark))
    console.print(f"{result.model_id}", style="bold")
    console.print(table)
    console.print(
        f"reads {result.prefill_tokens_per_s:.0f} and writes {result.decode_tokens_per_s:.0f} "
        f"tokens per second here; {result.seconds:.0f} s",
        style="dim",
    )


def moment(value: datetime | None) -> str:
    """A time as people write it."""
    return value.strftime("%Y-%m-%d %H:%M") if value else "no time"


def _table(*headers: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for header in headers:
        right = header in ("id", "session", "conversations", "messages")
        table.add_column(
            header,
            justify="right" if right else "left",
            overflow="fold" if header == "file" else "ellipsis",  # a path is never cut
        )
    return table


def _found_text(rank: int, found: FoundMessage) -> Text:
    message, session = found.message, found.session
    head = plain(f"\n{rank:2}. {message.speaker}, {moment(message.said_at)}")
    place = plain(f"  {session.title} (session {session.id}, message {message.id})\n")
    body = Text(_excerpt(message.text or message.attachment_text))
    return Text.assemble((head, "bold"), (place, "dim"), body, _date_notes(found.dates))


def _message_text(message: Message, dates: Sequence[ResolvedDate]) -> Text:
    head = plain(f"\n{message.speaker}, {moment(message.said_at)}")
    number = f"  message {message.id}\n"
    attached = f"\n[{message.attachment_text}]" if message.attachment_text else ""
    return Text.assemble(
        (head, "bold"),
        (number, "dim"),
        plain(message.text),
        (plain(attached), "dim"),
        _date_notes(dates),
    )


def _date_notes(dates: Sequence[ResolvedDate]) -> Text:
    if not dates:
        return Text()
    from localmem.dates import describe

    notes = "; ".join(f"{d.words} = {describe(d)}" for d in dates)
    return Text(plain(f"\n    {notes}"), style="cyan dim")


def _citation_text(number: int, citation: Citation) -> Text:
    where = (
        f"  {citation.session_title} (session {citation.session_id}, message {citation.message_id})"
    )
    return Text.assemble(
        (f"  [{number}] ", "cyan"),
        (plain(f"{citation.speaker}, {moment(citation.said_at)}: "), "bold"),
        f"“{_excerpt(citation.quote)}”",
        (plain(where), "dim"),
    )


def _wish_text(wish: LastingEntry) -> Text:
    said = f", {wish.last_said_at:%Y-%m-%d}" if wish.last_said_at is not None else ""
    return Text(f"  your wish{said}: “{_excerpt(wish.text)}”", style="dim")


def cited_messages(console: Console, cited: Sequence[Message]) -> None:
    """The messages behind an answer, whole, with their sessions."""
    for message in cited:
        console.print(_message_text(message, ()))
        console.print(f"localmem show {message.session_id}", style="dim")
    if not cited:
        console.print("no message stands behind it", style="dim")


def _trace_view(console: Console, trace: Trace) -> None:
    """Every step under the decision that it belongs to, then the totals."""
    from rich.tree import Tree

    tree = Tree(_totals(trace))
    place, decision = tree, 0
    for step in trace.steps:
        if step.decision != decision:
            decision = step.decision
            place = tree.add(f"step {decision}") if decision else tree
        place.add(_step_line(step))
    console.print(tree)


def _totals(trace: Trace) -> Text:
    opened = ", ".join(f"{layer} {count:,}" for layer, count in trace.tokens_by_layer.items())
    share = f" ({trace.opened_share:.1%} of all)" if trace.opened_share is not None else ""
    deepest = f", down to L{int(trace.deepest)}" if trace.deepest is not None else ""
    return Text(
        f"{trace.depth}: {trace.sessions_opened} of {counted(trace.sessions_total, 'session')}"
        f"{deepest}; tokens opened: {opened or 'none'}{share}; "
        f"{counted(trace.model_calls, 'model call')}, {trace.prompt_tokens:,} prompt and "
        f"{counted(trace.completion_tokens, 'reply token')}"
    )


def _step_line(step: TraceStep) -> Text:
    layer = f" L{int(step.layer)}" if step.layer is not None else ""
    opened = f", {counted(step.tokens, 'token')}" if step.tokens else ""
    line = Text.assemble((f"{step.tool}{layer}", "cyan"), plain(f" {step.arguments}".rstrip()))
    if step.outcome:
        line.append(plain(f" → {step.outcome}"))
    line.append(f"  {step.seconds:.2f} s{opened}", style="dim")
    return line


def _notices(console: Console, notices: Sequence[str]) -> None:
    for notice in notices:
        console.print(Text(plain(f"note: {notice}"), style="yellow"))


def plain(text: str) -> str:
    """Text of a chat with its control characters made visible, so that no terminal obeys them."""
    return text.translate(_CONTROLS)


def _excerpt(text: str) -> str:
    flat = " ".join(plain(text).split())
    if len(flat) <= _EXCERPT_CHARACTERS:
        return flat
    return flat[: _EXCERPT_CHARACTERS - 2].rsplit(" ", 1)[0] + " …"
