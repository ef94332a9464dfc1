"""Denies connections that leave this machine, in this process, for the rest of its life.

Every command but `models pull` runs under it. It guards against a library that phones home,
not against hostile code.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from typing import Any

from localmem.errors import NetworkDeniedError

_GUARDED_EVENTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_LOOKUP_EVENTS = frozenset({"socket.getaddrinfo", "socket.gethostbyname"})
_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost", ""})


def deny_network() -> None:
    """Install an audit hook that raises on any non-loopback connection or name look-up.

    The hook cannot be removed, by Python's own rule. Calling this twice is harmless.
    """
    sys.addaudithook(_refuse_outside)


def is_loopback(host: str) -> bool:
    """Whether `host`, a name or an address, is this machine by definition."""
    if host.lower() in _LOOPBACK_NAMES:
        return True
    try:
        address = ipaddress.ip_address(host.split("%", 1)[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _refuse_outside(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _GUARDED_EVENTS:
        _refuse_connection(arguments[0], arguments[1])
    elif event in _LOOKUP_EVENTS:
        _refuse_host(_host_text(arguments[0]))


def _refuse_connection(connection: object, address: object) -> None:
    family = getattr(connection, "family", None)
    if family not in (socket.AF_INET, socket.AF_INET6):
        return
    if isinstance(address, tuple) and address:
        _refuse_host(_host_text(address[0]))


def _host_text(host: object) -> str:
    if isinstance(host, bytes):
        return host.decode("ascii", "replace")
    return str(host or "")


def _refuse_host(host: str) -> None:
    if not is_loopback(host):
        raise NetworkDeniedError(
            f"a connection to {host} was refused: this command works offline",
            hint="only `localmem models pull` may use the network",
        )
