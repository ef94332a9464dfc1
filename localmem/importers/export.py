"""Opening an export: find its parts, recognise their format, read them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import tzinfo
from pathlib import Path

from localmem.errors import ImportFormatError, UsageError
from localmem.importers.documents import Document, Shape, document_of
from localmem.importers.formats import Format, Imported, Reading
from localmem.importers.parts import parts_of
from localmem.importers.registry import all_formats, look_alike, recognise
from localmem.importers.streams import BrokenStreamError, Part
from localmem.types import ConversationKind, ImportedConversation, ImportProblem
from localmem.wording import counted

OnBytes = Callable[[int, int], None]
_SPEAKERS_SHOWN = 20
_FILES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FormatInfo:
    """A format as help texts show it."""

    name: str
    title: str


def formats() -> tuple[FormatInfo, ...]:
    """The known formats, for help texts and error messages."""
    return tuple(FormatInfo(known.name, known.title) for known in all_formats())


class Export:
    """An export whose format is known. Each iteration reads it again, from the start.

    `source` names the format (several joined by "+"), `total_bytes` the unpacked size of the
    parts that hold chats. `notices` says, after an iteration, what was assumed or left out.
    `owner_name` is `me` as the export spells it; None where it was not given.
    """

    def __init__(
        self,
        path: Path,
        found: list[tuple[Document, Format]],
        *,
        passed_over: list[str],
        tz: tzinfo,
        question_id: str | None,
        on_bytes: OnBytes | None,
    ) -> None:
        self.path = path
        self.source = "+".join(dict.fromkeys(known.name for _, known in found))
        self.total_bytes = sum(document.part.size for document, _ in found)
        self.owner_name: str | None = None
        self.notices: tuple[str, ...] = ()
        self._found = found
        self._passed_over = passed_over
        self._tz = tz
        self._question_id = question_id
        self._on_bytes = on_bytes

    def __iter__(self) -> Iterator[Imported]:
        return self._read(self._counter())

    def among_people(self) -> bool:
        """Whether the export may hold chats among people, in which `me` must be one of them."""
        return any(known.kind is ConversationKind.PEOPLE for _, known in self._found)

    def speakers(self) -> tuple[list[str], bool]:
        """Who speaks in chats among people, most first, and whether there are other chats too.

        Reads the whole export, without counting bytes.
        """
        counts: dict[str, int] = {}
        with_assistant = False
        for imported in self._read(None):
            if not isinstance(imported, ImportedConversation):
                continue
            if imported.kind is ConversationKind.ASSISTANT:
                with_assistant = True
                continue
            for message in imported.messages:
                counts[message.speaker] = counts.get(message.speaker, 0) + 1
        return sorted(counts, key=lambda name: (-counts[name], name)), with_assistant

    def _counter(self) -> Callable[[int], None] | None:
        if self._on_bytes is None:
            return None
        on_bytes, total, read = self._on_bytes, self.total_bytes, 0

        def count(more: int) -> None:
            nonlocal read
            read += more
            on_bytes(min(read, total), total)

        return count

    def _read(self, on_bytes: Callable[[int], None] | None) -> Iterator[Imported]:
        reading = Reading(self._tz, self._question_id)
        self.notices = ()
        for document, known in self._found:
            if document.encoding == "cp1252":
                reading.notices.append(
                    f"{document.part.shown} is not Unicode: Windows-1252 assumed"
                )
            try:
                yield from known.read(replace(document, on_bytes=on_bytes), reading)
            except BrokenStreamError as error:
                yield ImportProblem(document.part.shown, "", f"could not be read: {error}")
        if reading.empty:
            reading.notices.append(
                f"{counted(reading.empty, 'conversation holds', 'conversations hold')} no messages"
            )
        if self._passed_over:
            listed = ", ".join(self._passed_over[:_FILES_SHOWN])
            more = ", ..." if len(self._passed_over) > _FILES_SHOWN else ""
            count = len(self._passed_over)
            reading.notices.append(f"{count} other files were passed over: {listed}{more}")
        self.notices = tuple(reading.notices)


def open_export(
    path: Path,
    *,
    tz: tzinfo,
    me: str | None = None,
    format: str | None = None,
    question_id: str | None = None,
    on_bytes: OnBytes | None = None,
) -> Export:
    """The export at a path (file, folder or zip), its format recognised from its content.

    `tz` is where times without a zone were written, and the owner's zone for instants. `me` is
    the owner's name in a chat among people. `format` admits only that format. `question_id` selects
    one question of a LongMemEval file. `on_bytes` is told bytes read and bytes in all.

    Raises:
        ImportFormatError: nothing there is in a known format; or nobody is called `me`.
        UsageError: `format` is not the name of a format.
    """
    candidates = _candidates(format)
    looked_at = [_looked_at(part, candidates) for part in parts_of(path)]
    documents = [document for document, _ in looked_at]
    found = [(document, known) for document, known in looked_at if known is not None]
    if any(document.shape is not Shape.TEXT for document, _ in found):
        found = [pair for pair in found if pair[0].shape is not Shape.TEXT]
    if not found:
        raise _unrecognised(path, documents, format)
    read = {document.part.shown for document, _ in found}
    export = Export(
        path,
        found,
        passed_over=[one.part.shown for one in documents if one.part.shown not in read],
        tz=tz,
        question_id=question_id,
        on_bytes=on_bytes,
    )
    if me is not None:
        export.owner_name = _owner_of(export, me)
    return export


def _candidates(name: str | None) -> tuple[Format, ...]:
    known = all_formats()
    if name is None:
        return known
    wanted = tuple(one for one in known if one.name == name)
    if not wanted:
        names = ", ".join(one.name for one in known)
        raise UsageError(f"there is no format '{name}'", hint=f"formats: {names}")
    return wanted


def _looked_at(part: Part, candidates: tuple[Format, ...]) -> tuple[Document, Format | None]:
    """The part as a document, and its format.

    Raises: ImportFormatError where it cannot even be opened.
    """
    try:
        document = document_of(part)
        return document, recognise(document, candidates)
    except BrokenStreamError as error:
        raise ImportFormatError(part.shown, "", f"cannot be read: {error}") from error


def _unrecognised(path: Path, documents: list[Document], format: str | None) -> ImportFormatError:
    names = ", ".join(known.name for known in all_formats())
    hint = f"formats that can be imported: {names}"
    if format is not None:
        return ImportFormatError(str(path), "", f"is not in the format '{format}'", hint=hint)
    if not documents:
        return ImportFormatError(str(path), "", "holds no files", hint=hint)
    explained = [(one, text) for one in documents if (text := look_alike(one))]
    if explained:
        document, text = explained[0]
        place = "" if document.part.shown == str(path) else document.part.shown
        return ImportFormatError(str(path), place, text, hint=hint)
    return ImportFormatError(str(path), "", "is in no format that is known here", hint=hint)


def _owner_of(export: Export, me: str) -> str:
    """`me` as the export spells it.

    Raises: ImportFormatError where the export has chats among people only, none with `me`.
    """
    if not export.among_people():
        return me
    speakers, with_assistant = export.speakers()
    for name in speakers:
        if name.casefold() == me.strip().casefold():
            return name
    if with_assistant or not speakers:
        return me
    listed = ", ".join(speakers[:_SPEAKERS_SHOWN])
    raise ImportFormatError(
        str(export.path), "", f"nobody in it is called '{me}'", hint=f"its speakers: {listed}"
    )
