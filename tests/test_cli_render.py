"""How text from chats reaches a terminal."""

from __future__ import annotations

from localmem.cli.render import plain


def test_what_a_terminal_would_obey_is_shown_instead() -> None:
    assert plain("\x1b[31mred\x07\x9b2J") == "␛[31mred␇\ufffd2J"
    assert plain("\u202eevil\u202c \u2067x") == "\ufffdevil\ufffd \ufffdx"


def test_lines_and_letters_of_any_script_stay() -> None:
    text = "Zoë\n\t東京 😀 [bold]"
    assert plain(text) == text
