"""A list that draws only the rows in sight, so that a hundred thousand cost no more than ten.

A row may have several lines; a row without a value is a heading, which can't be chosen.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from localmem_tui.inks import drawing_console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

Draw = Callable[[object, int], Sequence[Text]]
"""(value, width in cells) -> the row's lines, none wider than that."""

_MOST_DRAWN = 300


@dataclass(frozen=True, slots=True)
class Row:
    """`value` is what is drawn and chosen; `is_heading` rows can't be chosen."""

    value: object
    height: int = 1
    is_heading: bool = False


class Rows(ScrollView, can_focus=True, inherit_bindings=False):
    """Rows with a cursor. `Highlighted` and `Chosen` tell their values."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First", show=False),
        Binding("end,G", "last", "Last", show=False),
        Binding("enter", "choose", "Open", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--cursor-blurred"}
    DEFAULT_CSS = """
    Rows { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; }
    Rows > .rows--cursor { background: $primary-muted; }
    Rows > .rows--cursor-blurred { background: $panel; }
    """

    class Highlighted(Message):
        """The cursor came to a row."""

        def __init__(self, rows: Rows, value: object) -> None:
            super().__init__()
            self.rows = rows
            self.value = value

        @property
        def control(self) -> Rows:
            return self.rows

    class Chosen(Highlighted):
        """Enter or a click on the row under the cursor."""

    def __init__(
        self, draw: Draw, *, id: str | None = None, classes: str | None = None
    ) -> None:  # Textual's own name
        super().__init__(id=id, classes=classes)
        self._draw = draw
        self._rows: Sequence[Row] = ()
        self._offsets: list[int] = [0]
        self._cursor: int | None = None
        self._drawn: dict[tuple[int, int], list[Strip]] = {}
        self._pen = drawing_console()
        self._base: Style | None = None

    # --- What stands in it ------------------------------------------------------------------

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    @property
    def value(self) -> object | None:
        """What the cursor stands on; None where there is nothing to choose."""
        return None if self._cursor is None else self._rows[self._cursor].value

    @property
    def values(self) -> list[object]:
        """The values that can be chosen."""
        return [row.value for row in self._rows if not row.is_heading]

    def set_rows(self, rows: Sequence[Row], *, at: Callable[[object], bool] | None = None) -> None:
        """Show these rows; the cursor goes to the first whose value `at` takes, else the first."""
        self._rows = rows
        self._offsets = [0, *accumulate(row.height for row in rows)]
        self._drawn.clear()
        self._cursor = None
        self.virtual_size = Size(self._width, self._offsets[-1])
        self.scroll_to(y=0, animate=False, immediate=True)
        chosen = None if at is None else self._find(at)
        self._put_cursor(chosen if chosen is not None else self._next(-1, 1))
        self.refresh()

    def move_to(self, at: Callable[[object], bool]) -> bool:
        """Put the cursor on the first value that `at` takes; whether there is one."""
        found = self._find(at)
        if found is not None:
            self._put_cursor(found)
        return found is not None

    def _find(self, at: Callable[[object], bool]) -> int | None:
        places = (i for i, row in enumerate(self._rows) if not row.is_heading and at(row.value))
        return next(places, None)

    # --- Drawing ----------------------------------------------------------------------------

    @property
    def _width(self) -> int:
        return max(1, self.scrollable_content_region.width)

    def render_line(self, y: int) -> Strip:
        """The line at `y` of what is in sight."""
        line = y + int(self.scroll_offset.y)
        width = self._width
        if line >= self._offsets[-1]:
            return Strip.blank(self.size.width, self._ground)
        place = bisect_right(self._offsets, line) - 1
        strips = self._strips(place, width)
        strip = strips[min(line - self._offsets[place], len(strips) - 1)]
        base = self._ground
        if place == self._cursor:
            name = "rows--cursor" if self.has_focus else "rows--cursor-blurred"
            base += self.get_component_rich_style(name, partial=True)
        return strip.adjust_cell_length(width).apply_style(base)

    @property
    def _ground(self) -> Style:
        """What all lines stand on; working it out takes longer than drawing a line."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    def _strips(self, place: int, width: int) -> list[Strip]:
        key = (place, width)
        if key not in self._drawn:
            if len(self._drawn) > _MOST_DRAWN:
                self._drawn.clear()
            lines = list(self._draw(self._rows[place].value, width))
            lines += [Text()] * (self._rows[place].height - len(lines))
            self._drawn[key] = [self._strip(line, width) for line in lines]
        return self._drawn[key]

    def _strip(self, line: Text, width: int) -> Strip:
        line = line.copy()  # it is its owner's, and may be drawn wider later
        line.truncate(width, overflow="ellipsis")
        segments = [
            Segment(part.text, part.style or Style.null())
            for part in line.render(self._pen, end="")
        ]
        return Strip(segments)

    # --- The cursor -------------------------------------------------------------------------

    def action_move(self, step: int) -> None:
        """To the next row that can be chosen."""
        start = self._cursor if self._cursor is not None else -1
        self._put_cursor(self._next(start, step))

    def action_page(self, step: int) -> None:
        """As many lines on as are in sight."""
        if self._cursor is None:
            return
        target = self._offsets[self._cursor] + step * max(1, self.size.height - 1)
        line = min(max(0, target), self._offsets[-1] - 1)
        place = bisect_right(self._offsets, line) - 1
        near = self._next(place - step, step)
        self._put_cursor(near if near is not None else self._next(place + step, -step))

    def action_first(self) -> None:
        self._put_cursor(self._next(-1, 1))

    def action_last(self) -> None:
        self._put_cursor(self._next(len(self._rows), -1))

    def action_choose(self) -> None:
        """Tell that the row under the cursor is meant."""
        if self._cursor is not None:
            self.post_message(self.Chosen(self, self._rows[self._cursor].value))

    def _next(self, start: int, step: int) -> int | None:
        place = start + step
        while 0 <= place < len(self._rows):
            if not self._rows[place].is_heading:
                return place
            place += step
        return None

    def _put_cursor(self, place: int | None) -> None:
        if place is None:
            return
        moved = place != self._cursor
        self._cursor = place
        self._keep_in_sight(place)
        self.refresh()
        if moved:
            self.post_message(self.Highlighted(self, self._rows[place].value))

    def _keep_in_sight(self, place: int) -> None:
        top = self._offsets[place]
        if place and self._rows[place - 1].is_heading:
            top -= self._rows[place - 1].height
        height = min(self._offsets[place + 1] - top, max(1, self.size.height))
        region = Region(0, top, self._width, height)
        self.scroll_to_region(region, animate=False, force=True, immediate=True)

    # --- Events -----------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor; one on the cursor, or a double one, chooses."""
        at = event.get_content_offset(self)
        line = at.y + int(self.scroll_offset.y) if at is not None else self._offsets[-1]
        if line >= self._offsets[-1]:
            return
        place = bisect_right(self._offsets, line) - 1
        if self._rows[place].is_heading:
            return
        was_there = place == self._cursor
        self._put_cursor(place)
        if was_there or event.chain > 1:
            self.action_choose()

    def on_resize(self) -> None:
        self.virtual_size = Size(self._width, self._offsets[-1])
        if self._cursor is not None:
            self._keep_in_sight(self._cursor)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def notify_style_update(self) -> None:
        """A new theme has other inks."""
        self._drawn.clear()
        self._base = None
        super().notify_style_update()
