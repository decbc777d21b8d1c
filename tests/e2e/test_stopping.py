"""A worker that is told to stop leaves the group and is gone within 10 seconds."""

import signal
import time

import pytest

from processor.record import ACCEPTANCE, SIGNALS
from tests.e2e.checks import broken
from tests.e2e.test_guarantees import SMALL, signals
from tests.e2e.world import World


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_stops(here: World, which: signal.Signals) -> None:
    """With nothing to do: exit 0, and the group is empty at once, before any session times out."""
    here.create()
    worker = here.worker()
    worker.wait_said("serving")
    asked = time.monotonic()
    worker.send(which)
    assert worker.wait_end(10) == 0
    assert here.members() == 0
    assert time.monotonic() - asked < 5


def test_a_busy_worker_stops(here: World) -> None:
    """In the middle of a backlog: the transactions in flight end, and nothing is lost or repeated."""
    here.create()
    here.produce(signals(2_000))
    worker = here.worker("--slow", "0.5", **SMALL)
    worker.wait(lambda: here.read(ACCEPTANCE), "first acceptances")
    worker.send(signal.SIGTERM)
    assert worker.wait_end(10) == 0
    assert here.members() == 0
    assert here.lag([SIGNALS]) > 0
    here.worker()
    here.settle()
    assert broken(here) == {}


def test_a_worker_that_takes_over_stops(here: World) -> None:
    """Between placing its partitions and seeking their positions: that is no failure either."""
    here.create()
    worker = here.worker("--slow-seek", "1")
    worker.wait_said("serving")
    worker.send(signal.SIGTERM)
    assert worker.wait_end(10) == 0, worker.said()


def test_a_worker_that_begins_stops(here: World) -> None:
    """Before it has any partition."""
    here.create()
    worker = here.worker()
    worker.wait_said("starting")
    worker.send(signal.SIGTERM)
    assert worker.wait_end(10) in (0, -signal.SIGTERM)
