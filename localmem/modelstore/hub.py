"""Model files from a hub over HTTPS, resumable. The only outgoing connection of localmem."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import IO

from localmem.errors import DownloadError
from localmem.modelstore.progress import ProgressMeter

_BLOCK = 1 << 18
_TIMEOUT_S = 30.0
_ATTEMPTS = 3


def fetch_from_hub(url: str, target: Path, meter: ProgressMeter) -> None:
    """Stream `url` to `target`; bytes that `target` holds already are not fetched again.

    Raises:
        DownloadError: the server refused, or the connection broke three times without progress.
    """
    failures = 0
    while True:
        before = target.stat().st_size if target.exists() else 0
        try:
            _stream(url, target, meter)
            return
        except urllib.error.HTTPError as error:
            raise DownloadError(f"{url}: the server says {error.code} {error.reason}") from error
        except (OSError, HTTPException) as error:
            grown = target.exists() and target.stat().st_size > before
            failures = 0 if grown else failures + 1
            if failures >= _ATTEMPTS:
                raise DownloadError(
                    f"{url}: {getattr(error, 'reason', None) or error}",
                    hint="check the network connection; the next pull goes on where this stopped",
                ) from error


def _stream(url: str, target: Path, meter: ProgressMeter) -> None:
    have = target.stat().st_size if target.exists() else 0
    headers = {"User-Agent": "localmem"} | ({"Range": f"bytes={have}-"} if have else {})
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked below
    if request.type not in ("https", "http"):
        raise DownloadError(f"{url}: only http and https can be fetched")
    try:
        response = urllib.request.urlopen(request, timeout=_TIMEOUT_S)  # noqa: S310 - see above
    except urllib.error.HTTPError as error:
        if error.code == 416 and have and _whole_size(error.headers.get("Content-Range")) == have:
            return
        raise
    with response:
        resumed = response.status == 206
        done = have if resumed else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else 0
        with target.open("ab" if resumed else "wb") as out:
            done = _copy(response, out, done, total, meter)
    if total and done < total:
        raise OSError(f"the connection broke after {done} of {total} bytes")


def _copy(response: IO[bytes], out: IO[bytes], done: int, total: int, meter: ProgressMeter) -> int:
    meter.at(done, total)
    while block := response.read(_BLOCK):
        out.write(block)
        done += len(block)
        meter.at(done, total)
    return done


def _whole_size(content_range: str | None) -> int | None:
    """The size in "bytes */1234"."""
    tail = (content_range or "").rpartition("/")[2]
    return int(tail) if tail.isdigit() else None
