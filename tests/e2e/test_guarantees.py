"""Section 6, one guarantee after the other: kept under a fault, and seen to be broken when the engine breaks it."""

import itertools
import signal
from collections.abc import Callable, Iterator

import orjson
import pytest

from processor.record import ACCEPTANCE, RUNS, SIGNALS
from tests.e2e.checks import broken
from tests.e2e.world import World, value
from tests.waiting import until

SMALL = {"BATCH_MAX_RECORDS": "40"}


def signals(count: int, runs: int = 97, first: int = 0) -> Iterator[tuple[str, bytes, bytes]]:
    """Verdicts for some runs, in turn."""
    for n in range(first, first + count):
        yield SIGNALS, b"run_%d" % (n % runs), verdict(n)


def batches(records: Iterator[tuple[str, bytes, bytes]], size: int) -> Iterator[list[tuple[str, bytes, bytes]]]:
    while batch := list(itertools.islice(records, size)):
        yield batch


def verdict(n: int) -> bytes:
    return orjson.dumps(
        {
            "id": f"sig_{n}",
            "kind": "verdict",
            "name": "tests",
            "value": "pass" if n % 3 else "fail",
            "observed_at": f"2026-09-23T17:{n // 60 % 60:02}:{n % 60:02}Z",
            "source": {"kind": "ci"},
            "tier": "verified",
        }
    )


def document(run: str) -> bytes:
    rule = {"name": "tests", "definition": "tests pass", "requires": ["tests"]}
    return orjson.dumps(
        {
            "ocp": "0.3",
            "producer": {"name": "test"},
            "privacy": {"profile": "metadata_only"},
            "run": {"id": run, "ended_at": "2026-09-23T17:00:00Z", "acceptance_rule": rule},
            "nodes": [{"id": "n", "kind": "impl"}],
        }
    )


def documents(runs: int = 97) -> Iterator[tuple[str, bytes, bytes]]:
    for n in range(runs):
        yield RUNS, b"run_%d" % n, document(f"run_{n}")


def args(break_: str | None) -> list[str]:
    return ["--break", break_] if break_ else []


def aborted_inputs(world: World, break_: str | None) -> None:
    """A transactional producer aborts every other transaction while a worker reads."""
    worker = world.worker(*args(break_))
    worker.wait_said("serving")
    producer = world.producer(**{"transactional.id": f"{world.tag}-writer", "partitioner": "murmur2_random"})
    producer.init_transactions(30)
    for abort, records in zip(itertools.cycle([False, True]), batches(signals(600), 30), strict=False):
        producer.begin_transaction()
        for topic, key, said in records:
            producer.produce(world.name(topic), key=key, value=said)
        producer.flush(30)
        (producer.abort_transaction if abort else producer.commit_transaction)(30)
    world.settle()


def killed_in_the_middle(world: World, break_: str | None) -> None:
    """A worker is killed among many small transactions, and started again."""
    world.produce([*documents(), *signals(1_500)])
    first = world.worker(*args(break_), "--slow", "0.05", **SMALL)
    first.wait(lambda: len(world.read(ACCEPTANCE)) > 400, "some batches of each partition")
    first.kill()
    world.worker()
    world.settle()


def paused(world: World, break_: str | None) -> None:
    """A worker stands still past its session, another takes over, the first wakes up in the middle of a batch."""
    world.produce([*documents(), *signals(1_500)])
    zombie = world.worker(*args(break_), "--slow", "1.0", **SMALL)
    zombie.wait(lambda: world.read(ACCEPTANCE), "first acceptances")
    zombie.send(signal.SIGSTOP)
    world.worker(*args(break_)).wait_said("serving", seconds=40)
    world.settle()
    zombie.send(signal.SIGCONT)
    if break_ is None:
        assert zombie.wait_end() == 75
        assert "another worker owns this partition now" in zombie.said()
    else:
        until(lambda: zombie.process.poll() is not None or zombie.said().count("serving") > 1, "the zombie has moved")
    world.settle_by_state()


def group_offsets_gone(world: World, break_: str | None) -> None:
    """A group that stood still loses its offsets; the worker that comes back does not need them."""
    world.produce([*documents(), *signals(500)])
    first = world.worker()
    first.wait_said("serving")
    world.settle()
    first.send(signal.SIGTERM)
    assert first.wait_end() == 0
    world.admin.delete_consumer_groups([world.tag])[world.tag].result(30)
    world.worker(*args(break_)).wait_said("serving")
    world.produce(signals(500, first=500))
    world.settle_by_state()


def restarted(world: World, break_: str | None) -> None:
    """A worker is stopped and started again between inputs of the same runs."""
    world.produce([*documents(), *signals(500)])
    first = world.worker()
    first.wait_said("serving")
    world.settle()
    first.send(signal.SIGTERM)
    assert first.wait_end() == 0
    world.worker(*args(break_)).wait_said("serving")
    world.produce(signals(500, first=500))
    world.settle()


def any_partitioner(world: World, break_: str | None) -> None:
    """Two producers with different partitioners write about the same runs."""
    world.worker(*args(break_)).wait_said("serving")
    world.produce([*documents(), *signals(500)], partitioner="murmur2_random")
    world.produce(signals(500, first=500), partitioner="consistent_random")
    world.settle()


def partitions_come_back(world: World, break_: str | None) -> None:
    """A worker loses partitions to another, which works on them and dies; the first gets them back."""
    world.produce([*documents(), *signals(500)])
    first = world.worker(*args(break_))
    first.wait_said("serving")
    world.settle()
    second = world.worker()
    second.wait_said("serving")
    first.wait_said("serving", times=2)
    world.produce(signals(500, first=500))
    world.settle()
    second.kill()
    first.wait_said("serving", times=3, seconds=40)
    world.produce(signals(500, first=1_000))
    world.settle()


Scenario = Callable[[World, str | None], None]
SCENARIOS: list[tuple[Scenario, str, set[str]]] = [
    (aborted_inputs, "read-uncommitted", {"input that was never committed"}),
    (killed_in_the_middle, "split-transaction", {"input applied more than once"}),
    (paused, "no-fencing", {"input applied more than once", "version not the next"}),
    (group_offsets_gone, "group-offsets", {"input applied more than once"}),
    (restarted, "forget-state", {"version not the next"}),
    (any_partitioner, "any-partition", {"run on two partitions"}),
    (partitions_come_back, "kept-rows-as-they-are", {"input applied more than once"}),
]


@pytest.mark.parametrize("scenario", [scenario for scenario, _, _ in SCENARIOS], ids=lambda scenario: scenario.__name__)
def test_guarantees_are_kept(here: World, scenario: Scenario) -> None:
    """Whatever happens, each committed input is applied once, and each run's records are gapless chains."""
    here.create()
    scenario(here, None)
    assert broken(here) == {}


@pytest.mark.parametrize(("scenario", "break_", "seen"), SCENARIOS, ids=[break_ for _, break_, _ in SCENARIOS])
def test_a_break_is_seen(here: World, scenario: Scenario, break_: str, seen: set[str]) -> None:
    """The checks are sharp: with the guarantee taken out of the engine, the same scenario breaks the promise."""
    here.create()
    scenario(here, break_)
    assert seen <= broken(here).keys()


def test_a_lost_chunk_ends_the_worker(here: World) -> None:
    """Chunks form a chain: when one is missing the worker ends and says so, and no input is passed over."""
    here.create()
    worker = here.worker("--break", "lose-chunks")
    worker.wait_said("serving")
    said = itertools.count()

    def trickled() -> bool:
        here.produce(signals(8, first=8 * next(said)))
        return worker.process.poll() is not None

    until(trickled, "the worker ends")
    assert worker.process.returncode == 70
    assert "begins at" in worker.said()
    here.worker()
    here.settle()
    assert broken(here) == {}


def plain_and_killed(world: World, break_: str | None) -> set[str]:
    """Without transactions: a worker is killed among small batches and started again; which promises are broken."""
    world.produce(signals(1_500))
    first = world.worker(*args(break_), "--no-transactions", "--slow", "0.05", **SMALL)
    first.wait(lambda: len(world.read(ACCEPTANCE)) > 400, "some batches of each partition")
    first.kill()
    world.worker("--no-transactions")
    world.settle_by_state()
    return set(broken(world))


def test_without_transactions_at_least_once(here: World) -> None:
    """`--no-transactions` promises that each input is applied at least once, and keeps it when a worker is killed."""
    here.create()
    assert "input that is nowhere" not in plain_and_killed(here, None)


def test_rows_before_outputs_are_seen(here: World) -> None:
    """Were rows and positions written first, a kill would lose outputs, and the check would say so."""
    here.create()
    assert "input that is nowhere" in plain_and_killed(here, "rows-first")


def test_each_accepted_run_says_its_last_version(here: World) -> None:
    """The last acceptance of a run counts all of its inputs."""
    here.create()
    here.worker()
    here.produce([*documents(7), *signals(70, runs=7)])
    until(lambda: len(here.read(ACCEPTANCE)) >= 77, "all acceptances")
    last = {m.key(): value(m)["version"] for m in here.read(ACCEPTANCE)}
    assert last == {b"run_%d" % n: 11 for n in range(7)}
