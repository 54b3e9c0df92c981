"""A server that takes every connection and says nothing, until it has had enough."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from types import ModuleType

import pytest

from components.cluster import Cluster

ENOUGH_S = 5.0
"""After which it hangs up: then even a client that would wait for ever fails."""


@contextmanager
def silent() -> Iterator[str]:
    """Its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        timer = Timer(ENOUGH_S, listening.close)
        timer.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            timer.cancel()
            timer.join()


@contextmanager
def soon() -> Iterator[None]:
    """AssertionError if it was the server that lost patience."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < ENOUGH_S - 1


@contextmanager
def silent_cluster() -> Iterator[Cluster]:
    """A Kubernetes API like that, asked as `components.cluster.connect` has it."""
    from kubernetes import client

    with silent() as url:
        configuration = client.Configuration(host=url)
        configuration.retries = False
        with client.ApiClient(configuration) as made:
            yield Cluster(made, "team", None)


def hurry(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    """The module's calls may take a second. The number stays an int or a float: clients generated
    from OpenAPI ignore floats."""
    monkeypatch.setattr(module, "TIMEOUT_S", type(module.TIMEOUT_S)(1))
