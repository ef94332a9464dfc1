"""Fetching a model in a process of its own: the app itself never reaches out of this machine.

`python -m localmem_tui.pulling NAME` fetches, and prints its progress as lines of JSON; `pull`
runs that and hears it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from localmem_tui.work import Job

from localmem.errors import DownloadError, LocalMemError
from localmem.types import Progress


def pull(name: str, job: Job, *, command: Sequence[str] = ()) -> str:
    """Fetch a model; what happened, in words. Stopping the job ends the process.

    `command` stands in for the program that fetches.

    Raises:
        StoppedError: the job was stopped.
        DownloadError: it could not be fetched.
    """
    with subprocess.Popen(  # noqa: S603  # this program, with a name as one argument
        command or [sys.executable, "-m", "localmem_tui.pulling", name],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:
        job.at_stop(process.terminate)
        try:
            return _heard(process, job)
        finally:
            process.terminate()  # what has ended is not touched by that


def _heard(process: subprocess.Popen[str], job: Job) -> str:
    assert process.stdout is not None  # noqa: S101  # it was asked for, for the type checker
    for line in process.stdout:
        job.check()
        said = json.loads(line)
        if "pulled" in said:
            return str(said["pulled"])
        if "error" in said:
            raise DownloadError(said["error"], hint=said["hint"])
        job.tell(Progress(said["stage"], said["done"], said["total"], said["unit"]))
    job.check()
    raise DownloadError("the download ended without a word", hint="try again: localmem models pull")


def main(name: str) -> int:
    """Fetch a model, saying how far it is on stdout."""
    from localmem.shelf import ModelShelf

    def tell(progress: Progress) -> None:
        _say(stage=progress.stage, done=progress.done, total=progress.total, unit=progress.unit)

    try:
        _say(pulled=ModelShelf.open().pull(name, on_progress=tell))
    except LocalMemError as error:
        _say(error=error.message, hint=error.hint)
        return 1
    except OSError as error:
        _say(error=f"{error}", hint="")
        return 1
    return 0


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
