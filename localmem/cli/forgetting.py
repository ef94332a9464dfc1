"""The command that takes things out of a memory for good: a dry run, unless told otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from localmem.cli.shared import JsonFlag, opened, output, print_json, show_result
from localmem.wording import counted, erased_rows

if TYPE_CHECKING:
    from rich.console import Console

    from localmem.types import ForgetPlan


def forget(
    context: typer.Context,
    message: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="A message; may be repeated.")
    ] = None,
    session: Annotated[
        list[int] | None, typer.Option(metavar="ID", help="A whole session; may be repeated.")
    ] = None,
    person: Annotated[
        str | None, typer.Option(metavar="NAME", help="All that somebody said, and who they are.")
    ] = None,
    import_: Annotated[
        int | None, typer.Option("--import", metavar="ID", help="All that an import added.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without this nothing changes.")
    ] = False,
    confirm: Annotated[
        str, typer.Option(metavar="NAME", help="The owner's name, to forget the owner.")
    ] = "",
    json_: JsonFlag = False,
) -> None:
    """Forget for good: messages and all that was made from them. First only says what would go."""
    from localmem.cli.render import receipt
    from localmem.types import ForgetTarget, ImportId, MessageId, SessionId

    target = ForgetTarget(
        messages=tuple(map(MessageId, message or ())),
        sessions=tuple(map(SessionId, session or ())),
        person=person,
        import_id=None if import_ is None else ImportId(import_),
    )
    with opened(context) as memory:
        if not yes:
            plan = memory.plan_forget(target)
            show_result(plan, _plan_view, json_=json_)
            return
        erased = memory.forget(target, confirm=confirm)
    if json_:
        print_json(erased)
        return
    receipt(output(), erased)
    if erased.kept_out:
        output().print(
            f"importing the same export again leaves {counted(erased.kept_out, 'message')} out; "
            "localmem import --allow-again does not"
        )


def _plan_view(console: Console, plan: ForgetPlan) -> None:
    from rich.text import Text

    from localmem.cli.render import moment, plain

    console.print(f"would erase: {erased_rows(plan.receipt)}")
    for losing in plan.sessions:
        session = losing.session
        console.print(
            Text(
                plain(
                    f"  session {session.id}, {moment(session.started_at)}, {session.title}: "
                    f"{losing.messages_going:,} of "
                    f"{counted(session.message_count, 'message')}"
                )
            )
        )
    if plan.sessions_total > len(plan.sessions):
        left = counted(plan.sessions_total - len(plan.sessions), "more session")
        console.print(f"  and {left}")
    for line in plan.stays:
        console.print(Text(plain(f"note: {line}"), style="yellow"))
    confirm = f" --confirm '{plan.confirm}'" if plan.confirm else ""
    console.print(Text(plain(f"nothing was changed; to do it, add --yes{confirm}"), style="dim"))
