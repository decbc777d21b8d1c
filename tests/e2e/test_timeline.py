"""A real history, through two workers of which one is killed: every run's end is the expected one."""

import gzip
from collections.abc import Iterator

import orjson

from processor.record import ACCEPTANCE, COMMIT_EVENTS, REVERSED
from tests.broker import REPOSITORY
from tests.e2e.checks import broken
from tests.e2e.world import World, value
from tests.waiting import until

TIMELINES = REPOSITORY / "tests/timelines"


def timeline(name: str) -> Iterator[tuple[str, bytes, bytes]]:
    with gzip.open(TIMELINES / f"{name}.records.jsonl.gz", "rb") as lines:
        for line in lines:
            record = orjson.loads(line)
            yield record["topic"], record["key"].encode(), orjson.dumps(record["value"])


def java_partitioned(key: bytes) -> bool:
    """Half of the keys; all records of a key by one producer, so that its documents stay in order."""
    return key[-1] % 2 == 0


def test_a_history_is_exact_when_a_worker_is_killed(here: World) -> None:
    """Two workers, one killed in the middle and started again, half of the keys on librdkafka's partitions: every run
    ends as expected, versions and changes are gapless chains, and each input is accounted for once."""
    here.create()
    records = list(timeline("faust"))
    here.produce((r for r in records if java_partitioned(r[1])), partitioner="murmur2_random")
    here.produce((r for r in records if not java_partitioned(r[1])), partitioner="consistent_random")
    small = {"BATCH_MAX_RECORDS": "40"}
    first = here.worker("--slow", "0.2", **small)
    here.worker("--slow", "0.2", **small)
    first.wait(lambda: len(here.read(ACCEPTANCE)) > 300, "a part of the history is done")
    first.kill()
    here.worker()
    here.settle()

    assert broken(here) == {}
    last = {(m.key() or b"").decode(): value(m) for m in here.read(ACCEPTANCE)}
    expected = [orjson.loads(line) for line in (TIMELINES / "faust.expected.jsonl").read_bytes().splitlines()]
    differing = [e for e in expected if last[e["run"]]["status"] != e["status"]]
    late = [e for e in expected if len(last[e["run"]]["late_events"]) != e["late"]]
    assert (len(expected), differing, late) == (1_032, [], [])
    alerted = {(m.key() or b"").decode() for m in here.read(REVERSED)}
    assert alerted == {run for run, said in last.items() if said["reversed"]}
    assert len(here.read(COMMIT_EVENTS)) > 0


def test_a_run_is_on_one_partition_whoever_produced_it(here: World) -> None:
    """Records of one key on each of four partitions are folded into one run, in one place."""
    here.create()
    here.worker()
    producer = here.producer()
    for number in range(4):
        producer.produce(here.name("signals"), b"{}", key=b"run_1", partition=number)  # unreadable, so dead letters
        signal = {"id": f"s{number}", "kind": "verdict", "name": "tests", "value": "pass", "tier": "verified"}
        signal |= {"observed_at": f"2026-09-23T17:0{number}:00Z", "source": {"kind": "ci"}}
        producer.produce(here.name("signals"), orjson.dumps(signal), key=b"run_1", partition=number)
    assert producer.flush(30) == 0
    until(lambda: len(here.read(ACCEPTANCE)) == 4, "four acceptances")
    here.settle()
    assert broken(here) == {}
