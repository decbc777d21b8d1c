"""Strike a worker on a real broker, again and again, and verify what came out.

    python -m tests.faults --seed S --kills N [--only NAME]...

Prints a line for each fault, then the sum. Exit code 1 when a promise was broken or too few strikes hit.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from confluent_kafka import KafkaException

from tests.faults import faults
from tests.faults.brokers import Kafka, own
from tests.faults.harness import Field, line, new_field


def run(kafka: Kafka, scratch: Path, name: str, seed: int, times: int, long_seconds: float = 60) -> Field:
    """One fault, on a field of its own."""
    here = new_field(kafka, scratch / name, seed, name, long_seconds)
    try:
        faults.FAULTS[name](here, times)
    except (AssertionError, KafkaException) as error:
        here.violations.append(f"I6: {error}")
    finally:
        here.load.stopped.set()
        if here.load.thread.is_alive():
            here.load.thread.join(60)
        here.close()
    if not +here.strikes:
        here.violations.append(f"I7: {name} struck nothing")
    return here


def run_all(kafka: Kafka, scratch: Path, names: list[str], seed: int, kills: int) -> Counter[str]:
    """These faults, one after the other, and a line for each. Returns the sums."""
    total: Counter[str] = Counter()
    for name in names:
        began = time.monotonic()
        here = run(kafka, scratch, name, seed, faults.times(name, kills))
        report = here.report()
        print(line(name, seed, report | {"seconds": round(time.monotonic() - began)}), flush=True)
        for sentence in here.violations[:20]:
            print(f"    {sentence}", flush=True)
        total += here.strikes
        total["inputs"] += here.verifier.inputs()
        total["violations"] += len(here.violations)
        total["fenced"] += here.fenced()
    return total


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--only", action="append", choices=sorted(faults.FAULTS))
    parser.add_argument("--keep", type=Path, help="a directory for logs that are to be kept")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    print(f"seed {args.seed}, {args.kills} kills", flush=True)
    names = args.only or list(faults.FAULTS)
    with tempfile.TemporaryDirectory(prefix="faults-") as made:
        for nodes in (1, 3):
            these = [name for name in names if (name in faults.THREE) == (nodes == 3)]
            if these:
                with own(Path(made) / f"kafka-{nodes}", nodes) as kafka:
                    total += run_all(kafka, args.keep or Path(made), these, args.seed, args.kills)
    print(f"seed {args.seed}: {dict(total)}, violations {total['violations']}", flush=True)
    return bool(total["violations"])


if __name__ == "__main__":
    sys.exit(main())
