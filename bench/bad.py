"""What bad records cost: the same number of inputs, none of them bad or one in ten, in turns and both ways round.

    python -m bench.bad [--records 100000] [--rounds 4]

Records/s are from the worker's being ready to its having no lag; CPU is the worker's. The bad ones are, in equal parts,
no JSON, a value that does not fit, a missing member, no real time, and a key that is not UTF-8.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import orjson

from tests.broker import kafka
from tests.e2e.world import Worker, World

INPUTS = ("runs", "signals", "run-inputs")
SIGNALS_A_RUN = 10


def records(count: int, bad: bool) -> Iterator[tuple[str, bytes, bytes]]:
    """Documents and signals, shuffled alike; where `bad`, one in ten is."""
    rng = random.Random(7)
    for number in range(count):
        run = b"run_%d" % rng.randrange(count // SIGNALS_A_RUN)
        signal = {"id": f"s{number}", "kind": "verdict", "name": rng.choice(("tests", "review")), "value": "pass"}
        signal |= {"observed_at": f"2026-09-14T10:{number % 60:02}:00Z", "tier": "verified"}
        if number % SIGNALS_A_RUN == 0:
            rule = {"name": "r", "definition": "d", "requires": ["tests", "review"]}
            body = {"id": run.decode(), "ended_at": "2026-09-14T12:00:00Z", "acceptance_rule": rule}
            yield "runs", run, orjson.dumps({"ocp": "0.3", "run": body})
        elif bad and number % 10 == 5:
            yield "signals", *broken(number // 10 % 5, run, signal)
        else:
            yield "signals", run, orjson.dumps(signal)


def broken(how: int, run: bytes, signal: dict[str, str]) -> tuple[bytes, bytes]:
    """Key and value of a bad record."""
    if how == 0:
        return run, orjson.dumps(signal)[:-1]
    if how == 1:
        return run, orjson.dumps(signal | {"value": "PASS"})
    if how == 2:
        return run, orjson.dumps({name: value for name, value in signal.items() if name != "tier"})
    if how == 3:
        return run, orjson.dumps(signal | {"observed_at": "2026-02-30T10:00:00Z"})
    return b"\xff" + run, orjson.dumps(signal)


def cpu_seconds(worker: Worker) -> float:
    """What the process has used."""
    fields = Path(f"/proc/{worker.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(servers: str, count: int, bad: bool) -> tuple[float, float]:
    """Records/s, and CPU-seconds for 100,000."""
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        world = World(servers, Path(scratch))
        world.create()
        world.produce(records(count, bad), partitioner="murmur2_random")
        worker = world.worker()
        try:
            worker.wait_said("serving", 60)
            began, used = time.monotonic(), cpu_seconds(worker)
            worker.wait(lambda: world.lag(INPUTS) == 0, "no lag", 300)
            seconds = time.monotonic() - began
            return count / seconds, (cpu_seconds(worker) - used) / count * 100_000
        finally:
            world.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.bad")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    found: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    with kafka() as servers:
        for number in range(args.rounds):
            for bad in (False, True) if number % 2 == 0 else (True, False):
                found[bad].append(measure(servers, args.records, bad))
    print("| bad | records/s (min to max) | CPU-s per 100,000 |\n|---|---|---|")
    for bad, measured in found.items():
        rates = sorted(rate for rate, _ in measured)
        rate, cpu = statistics.median(rates), statistics.median(used for _, used in measured)
        print(f"| {'1 in 10' if bad else 'none'} | {rate:,.0f} ({rates[0]:,.0f} to {rates[-1]:,.0f}) | {cpu:.1f} |")
    good, with_bad = (statistics.median(rate for rate, _ in found[bad]) for bad in (False, True))
    print(f"\nwith bad ones: {with_bad / good:.2f} of the records/s without")


if __name__ == "__main__":
    main()
