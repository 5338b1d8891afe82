"""Workers of this machine serve the process that started them and nobody else; a scheduler without
TLS is warned of.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from microagg.errors import ClusterWarning, InputError
from microagg.runtime.dask_cluster import connect, warn_if_open

pytestmark = [
    pytest.mark.slow,
    # sockets of connections that were refused, which Dask leaves to the collector
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with connect("local:1", threads=1) as started:
        yield started


def listening_ports() -> set[int]:
    """Ports on which this process and its children accept connections."""
    here = psutil.Process()
    ports = set()
    for process in (here, *here.children(recursive=True)):
        for connection in process.net_connections(kind="inet"):
            if connection.status == psutil.CONN_LISTEN:
                assert connection.laddr.ip == "127.0.0.1"
                ports.add(connection.laddr.port)
    return ports


def ports_of(client: Any) -> set[int]:
    """Ports of the scheduler, the worker and its nanny."""
    workers = client.scheduler_info()["workers"]
    addresses = [
        client.scheduler.address,
        *workers,
        *(worker["nanny"] for worker in workers.values()),
    ]
    return {int(address.rpartition(":")[2]) for address in addresses}


def test_no_port_is_open_but_those_of_the_cluster(client: Any) -> None:
    assert listening_ports() == ports_of(client)


def test_no_port_answers_without_tls(client: Any) -> None:
    for port in ports_of(client):
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as plain:
            plain.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b""
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                answer = plain.recv(1000)
            assert answer[:1] in (b"", b"\x15"), "at most an alert of TLS"


@pytest.mark.parametrize("key", ["none", "of another run"])
def test_a_client_without_the_key_is_refused(client: Any, key: str) -> None:
    import dask
    from distributed import Client, Security

    address = client.scheduler.address
    assert address.startswith("tls://")
    if key == "none":
        options: dict[str, Any] = {"address": address.replace("tls://", "tcp://")}
    else:
        options = {"address": address, "security": Security.temporary()}
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        pytest.raises((OSError, TimeoutError)),
    ):
        Client(**options, set_as_default=False, timeout="1s").close()
    assert client.submit(os.getpid, pure=False).result() != os.getpid()


def test_what_dask_keeps_on_disk_is_private(client: Any) -> None:
    """Dask puts this folder first on the path that modules are imported from."""
    for folder in client.run(lambda dask_worker: dask_worker.local_directory).values():
        above = [parent for parent in Path(folder).parents if parent.name.endswith(".spill")]
        assert len(above) == 1
        assert stat.S_IMODE(above[0].stat().st_mode) == 0o700


def test_without_cryptography(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import Security

    def missing() -> None:
        raise ImportError

    monkeypatch.setattr(Security, "temporary", missing)
    with pytest.raises(InputError, match=r"pip install 'microagg\[dask\]'"), connect("local:1"):
        pass


class _Client:
    """As much of a client as the warning looks at."""

    def __init__(self, address: str) -> None:
        self.scheduler = type("Scheduler", (), {"address": address})


def test_a_scheduler_without_tls_is_warned_of() -> None:
    for address in ("tcp://10.0.0.1:8786", "ws://10.0.0.1:8786"):
        with pytest.warns(ClusterWarning, match=f"{address} is reached without encryption.*tls://"):
            warn_if_open(_Client(address))
    warn_if_open(_Client("tls://10.0.0.1:8786"))
    warn_if_open(_Client("inproc://10.0.0.1/1/1"))
