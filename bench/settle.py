"""Many runs due at once: how fast they settle, and what live traffic feels of it.

    python -m bench.settle [--rows 1000000] [--rate 100] [--seconds 30]

The same worker is measured before anything is due and while all of it is; latency is from a signal's being produced to
its acceptance's being read, `read_committed`, by another process.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import orjson
from confluent_kafka import Consumer, Producer

from bench.restore import SIGNAL, fill
from tests.broker import kafka
from tests.e2e.world import World
from tests.waiting import until

PAUSE = threading.Event()  # never set
LIVE = b"live_"


class Traffic:
    """Signals at a steady rate, and how long each took."""

    def __init__(self, world: World, rate: float) -> None:
        self.world, self.rate = world, rate
        self.sent: dict[str, float] = {}
        self.seconds: list[float] = []
        self.settled = 0
        self.stopped = threading.Event()

    def produce(self) -> None:
        producer, number = Producer({"bootstrap.servers": self.world.servers, "linger.ms": 0}), 0
        began = time.monotonic()
        while not self.stopped.is_set():
            id_ = f"s{number}"
            self.sent[id_] = time.monotonic()
            key = LIVE + b"%d" % (number % 1_000)
            producer.produce(self.world.name("signals"), key=key, value=orjson.dumps(SIGNAL | {"id": id_}))
            producer.poll(0)
            number += 1
            PAUSE.wait(max(0.0, began + number / self.rate - time.monotonic()))
        producer.flush(30)

    def consume(self) -> None:
        settings = {"bootstrap.servers": self.world.servers, "group.id": "bench", "auto.offset.reset": "latest"}
        settings |= {"isolation.level": "read_committed", "fetch.wait.max.ms": 10}
        consumer = Consumer(settings)
        consumer.subscribe([self.world.name("acceptance")])
        while not self.stopped.is_set():
            for message in consumer.consume(1_000, 0.05):
                if not (message.key() or b"").startswith(LIVE):
                    self.settled += 1
                elif value := orjson.loads(message.value() or b"null"):
                    began = self.sent.pop(value["cause"]["signal"], None)
                    if began is not None:
                        self.seconds.append(time.monotonic() - began)
        consumer.close()

    def measure(self, done: Callable[[], object], limit: float) -> tuple[float, float, float]:
        """Until that is so: p50 and p99 in ms, and how long it took."""
        threads = [threading.Thread(target=target) for target in (self.consume, self.produce)]
        for thread in threads:
            thread.start()
        until(lambda: self.seconds, "the first signal has come through", 120)
        self.seconds.clear()
        began = time.monotonic()
        try:
            until(done, "measured", limit)
        finally:
            seconds = time.monotonic() - began
            self.stopped.set()
            for thread in threads:
                thread.join(60)
        cuts = statistics.quantiles(self.seconds, n=100)
        return cuts[49] * 1_000, cuts[98] * 1_000, seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.settle")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=100)
    parser.add_argument("--seconds", type=float, default=30)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, kafka() as servers:
        world = World(servers, Path(scratch))
        world.create()
        fill(world, args.rows)
        for name, grace in (("nothing due", {}), ("all due", {"SETTLE_GRACE_SECONDS": "0"})):
            worker = world.worker(**grace)
            worker.wait_said("serving", seconds=300)
            traffic, began = Traffic(world, args.rate), time.monotonic()
            done = (
                (lambda traffic=traffic: traffic.settled >= args.rows)
                if grace
                else lambda began=began: time.monotonic() - began > args.seconds
            )
            p50, p99, seconds = traffic.measure(done, 3_600)
            settled = f", {traffic.settled:,} settled in {seconds:.0f} s ({traffic.settled / seconds:,.0f}/s)"
            count = len(traffic.seconds)
            print(f"{name}: p50 {p50:.0f} ms, p99 {p99:.0f} ms of {count:,}{settled if grace else ''}", flush=True)
            worker.kill()
            until(lambda: not world.members(), "the group has forgotten it", 60)
        world.close()


if __name__ == "__main__":
    main()
