"""With one guarantee taken out of the engine, the verifier says which promise is broken. So it would see it."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import on_workers
from tests.faults.brokers import Kafka
from tests.faults.harness import Field, new_field
from tests.faults.verifier import INPUTS, INTERNAL, promises
from tests.waiting import until


def healthy(here: Field, mutant: str) -> None:
    """No fault at all."""
    here.crew[0] = here.worker("--mutant", mutant)
    here.load.start()
    here.await_progress()
    here.verifier.read("acceptance-changed")
    until(lambda: changed(here) > 120, "some changes", 60)
    here.settle()


def changed(here: Field) -> int:
    here.verifier.read("acceptance-changed")
    return len(here.verifier.of("acceptance-changed"))


def killed(here: Field, mutant: str) -> None:
    """SIGKILL after the first transaction of the runs that is committed, three times."""
    here.crew[0] = here.worker(*here.arguments)
    here.load.start()
    until(lambda: len(here.offsets()) == 4 * len((*INPUTS, *INTERNAL)), "every partition has a state", 60)
    here.crew[0].kill()
    for _ in range(3):
        worker = here.worker("--mutant", mutant, "--die", "after-commit:runs:1")
        assert worker.wait_end(60) == -signal.SIGKILL, worker.said()
    here.crew[0] = here.worker()
    here.settle()


def unacknowledged(here: Field, mutant: str) -> None:
    """A transaction that is not acknowledged."""
    here.crew[0] = here.worker("--mutant", mutant, "--refuse", "8")
    here.load.start()
    here.crew[0].wait_said("refused by the test", 60)
    here.moved = here.position()
    here.await_progress()
    here.settle()


def paused(here: Field, mutant: str) -> None:
    """Frozen before a transaction, past the session; then it goes on."""
    here.load.start()
    on_workers.freeze(here, "batch-made", "--mutant", mutant)
    here.settle()


def without_group_offsets(here: Field, mutant: str) -> None:
    """The group's offsets are deleted between two starts."""
    here.load.start()
    here.crew[0] = here.worker()
    here.await_progress()
    here.delete_group()
    here.crew[0] = here.worker("--mutant", mutant)
    here.moved = 0
    here.await_progress()
    here.settle()


Scenario = Callable[[Field, str], None]
CAUGHT: list[tuple[str, Scenario, set[str]]] = [
    ("swapped-effects", killed, {"I3"}),
    ("positions-outside", killed, {"I3"}),
    ("no-fencing", paused, {"I3", "I5"}),
    ("uncommitted-input", healthy, {"I3"}),
    ("dropped-change", healthy, {"I2"}),
    ("random-ids", healthy, {"I2"}),
    ("applied-before-acknowledged", unacknowledged, {"I3"}),
    ("no-seek", without_group_offsets, {"I3"}),
]


@pytest.mark.parametrize(("mutant", "scenario", "seen"), CAUGHT, ids=[mutant for mutant, _, _ in CAUGHT])
def test_a_mutant_is_caught(broker: Kafka, tmp_path: Path, mutant: str, scenario: Scenario, seen: set[str]) -> None:
    """The promises that this mutant breaks are said to be broken."""
    here = new_field(broker, tmp_path / mutant, 7, mutant)
    here.settle_seconds = 15  # a mutant's lag may stay
    try:
        scenario(here, mutant)
    finally:
        here.close()
    print(mutant, promises(here.violations), here.violations[:3])
    assert seen <= set(promises(here.violations)), here.violations[:10]
