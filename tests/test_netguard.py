"""The network guard, tried in a child process because it cannot be taken back."""

from __future__ import annotations

import subprocess
import sys

import pytest

from localmem.netguard import is_loopback


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST", "::ffff:127.0.0.1"]
)
def test_this_machine_is_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "10.0.0.1", "example.org", "localhost.example.org", "::ffff:192.0.2.1"]
)
def test_other_machines_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def _guarded(statement: str) -> str:
    program = f"""
import socket
from localmem.netguard import deny_network
from localmem.errors import NetworkDeniedError
deny_network()
try:
    {statement}
    print("allowed")
except NetworkDeniedError as error:
    print("denied", error.hint)
except OSError:
    print("allowed")
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return run.stdout


@pytest.mark.parametrize(
    "statement",
    [
        "socket.create_connection(('192.0.2.1', 80), timeout=0.2)",
        "socket.getaddrinfo('example.org', 80)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 53))",
        "import urllib.request; urllib.request.urlopen('http://example.org', timeout=0.2)",
    ],
)
def test_a_guarded_process_cannot_reach_another_machine(statement: str) -> None:
    assert _guarded(statement).startswith("denied")


def test_a_guarded_process_reaches_its_own_machine() -> None:
    assert "allowed" in _guarded("socket.create_connection(('127.0.0.1', 9), timeout=0.2)")
