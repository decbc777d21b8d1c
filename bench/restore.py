"""How long a restore takes, beside Faust's own recovery of the same rows.

    python -m bench.restore [--rows 100000]... [--rounds 3]

Each row is a run of one document and ten signals, as the worker writes it. Seconds are from the start of the process
to its being ready to serve; memory is the process's peak.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import orjson
from confluent_kafka import Producer

from processor.engine import positions
from processor.partitioner import partition_of
from processor.pipelines import pipelines
from processor.record import Record
from tests import children
from tests.broker import REPOSITORY, kafka
from tests.e2e.world import World
from tests.waiting import until

PARTITIONS = 4
SIGNAL = {"id": "s", "kind": "verdict", "name": "tests", "value": "pass", "tier": "verified"}
SIGNAL |= {"observed_at": "2026-09-14T10:00:00Z"}
DOCUMENT = {
    "ocp": "0.3",
    "producer": {"name": "bench"},
    "privacy": {"profile": "metadata_only"},
    "run": {
        "id": "run_0",
        "title": "A change",
        "labels": {"team": "a"},
        "ended_at": "2026-09-14T12:00:00Z",
        "acceptance_rule": {"name": "r", "definition": "d", "requires": ["tests", "review"]},
    },
    "nodes": [{"id": "n", "kind": "impl"}],
}


def row(world: World) -> bytes:
    """The state of one run, made by the pure step."""
    runs, _ = pipelines(world.settings)
    table = runs.table(lambda _key: True)
    batch = table.batch()
    batch.step(Record("runs", 0, 0, 0, b"run_0", orjson.dumps(DOCUMENT), ()))
    for number in range(10):
        signal = {"id": f"sig_{number}", "kind": "verdict", "name": ("tests", "review", "lint")[number % 3]}
        signal |= {"value": "pass", "observed_at": f"2026-09-14T10:{number:02}:00Z", "tier": "verified"}
        signal |= {"source": {"kind": "ci", "ref": f"https://ci.example/{number}"}}
        batch.step(Record("signals", 0, number, 0, b"run_0", orjson.dumps(signal), ()))
    [made] = batch.changes().values()
    assert made is not None
    return made


def fill(world: World, rows: int) -> int:
    """Write the changelog of so many runs. Returns the bytes of a row."""
    made = row(world)
    producer = Producer({"bootstrap.servers": world.servers, "linger.ms": 50, "queue.buffering.max.messages": 500_000})
    log = world.name("runs-changelog")
    for number in range(rows):
        key = b"run_%d" % number
        while True:
            try:
                producer.produce(log, key=key, value=made, partition=partition_of(key, PARTITIONS))
                break
            except BufferError:
                producer.poll(0.5)
    producer.flush(120)
    inputs = {world.name(topic): 0 for topic in ("runs", "signals", "run-inputs")}
    for number in range(PARTITIONS):
        producer.produce(log, key=positions.KEY, value=positions.encode(inputs), partition=number)
    producer.flush(120)
    return len(made)


def product(world: World, rows: int) -> tuple[float, float]:
    """Seconds and peak MiB of a worker that takes all partitions over."""
    began = time.monotonic()
    worker = world.worker()
    worker.wait_said("serving", seconds=300)
    seconds = time.monotonic() - began
    assert f": {rows} rows," in worker.said(), worker.said()
    status = Path(f"/proc/{worker.process.pid}/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    worker.kill()
    until(lambda: not world.members(), "the group has forgotten it", 60)
    return seconds, int(peak) / 1024


def faust_peer(world: World, rows: int) -> tuple[float, float]:
    """The same of Faust."""
    command = [sys.executable, "-m", "bench.peers.faust_restore", world.servers, f"{world.tag}", world.name("signals")]
    began = time.monotonic()
    process = children.start([*command, str(PARTITIONS)], stdout=subprocess.PIPE, cwd=REPOSITORY, env=os.environ)
    out, _ = process.communicate(timeout=900)
    seconds = time.monotonic() - began
    found, peak = out.decode().split()[-2:]
    assert int(found) == rows + 1, f"{found} of {rows} rows"  # and the positions, which it takes for a row
    until(lambda: not world.members(), "the group has forgotten it", 60)
    return seconds, int(peak) / 1024


def failover(world: World) -> float:
    """Seconds from the SIGKILL of one of two workers to the other's outputs on all partitions."""
    first = world.worker(SESSION_TIMEOUT_SECONDS="6", REBALANCE_TIMEOUT_SECONDS="10")
    first.wait_said("serving", seconds=300)
    second = world.worker(SESSION_TIMEOUT_SECONDS="6", REBALANCE_TIMEOUT_SECONDS="10")
    second.wait_said("serving", seconds=300)
    first.wait_said("serving", times=2, seconds=300)
    before = world.ends(world.name("acceptance"))
    first.kill()
    began = time.monotonic()
    signals = (("signals", b"run_%d" % number, orjson.dumps(SIGNAL)) for number in range(40))
    world.produce(signals)

    def all_partitions() -> bool:
        return all(end > before[number] for number, end in world.ends(world.name("acceptance")).items())

    until(all_partitions, "the other has taken over", 120)
    seconds = time.monotonic() - began
    second.kill()
    until(lambda: not world.members(), "the group has forgotten it", 60)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.restore")
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print("| rows | bytes a row | | seconds (min to max) | rows/s | peak MiB |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, kafka() as servers:
        for rows in args.rows or [100_000]:
            world = World(servers, Path(scratch))
            world.create()
            size = fill(world, rows)
            found: dict[str, list[tuple[float, float]]] = {"this worker": [], "Faust's recovery": []}
            for _ in range(args.rounds):
                found["this worker"].append(product(world, rows))
                found["Faust's recovery"].append(faust_peer(world, rows))
            for name, measured in found.items():
                seconds = sorted(one for one, _ in measured)
                median, peak = statistics.median(seconds), max(memory for _, memory in measured)
                spread = f"{median:.1f} ({seconds[0]:.1f} to {seconds[-1]:.1f})"
                print(f"| {rows:,} | {size:,} | {name} | {spread} | {rows / median:,.0f} | {peak:,.0f} |", flush=True)
            over = sorted(failover(world) for _ in range(args.rounds))
            spread = f"{statistics.median(over):.1f} ({over[0]:.1f} to {over[-1]:.1f})"
            print(f"| {rows:,} | {size:,} | SIGKILL of one of two to the other's outputs | {spread} | | |", flush=True)
            world.close()


if __name__ == "__main__":
    main()
