"""Records a second and CPU of the product and its peers, in turns, on the same inputs and the same broker.

    python -m bench.throughput [--records 1000000] [--rounds 3] [--signals 10] [--only NAME]...

A record counts when the group has committed it and everything that it led to. From a contender's first output on:
start-up, and a JVM's first moments, are not measured. Each one's outputs are checked against the product's pure step.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
from confluent_kafka import KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.contenders import CONTENDERS, PARTITIONS, QUIX, STREAMS, Contender, Setting
from bench.data import Given, records
from processor import record
from processor.replay import Replay
from processor.settings import Settings
from tests.broker import ends, kafka
from tests.e2e.world import read
from tests.faults.logs import group_offsets
from tests.waiting import until

Answers = dict[str, tuple[str, list[str]]]  # run → status and reasons
LIMIT_SECONDS = 1_800


@dataclass(frozen=True)
class Measured:
    """Of one contender in one round."""

    rate: float
    cpu: float  # seconds for 100,000 records
    peak: float  # MiB, of all its processes


def fill(servers: str, given: str, rows: Iterable[Given]) -> None:
    """Make the inputs."""
    new = [NewTopic(f"{given}{topic}", PARTITIONS, 1) for topic in record.INPUTS]
    admin = AdminClient({"bootstrap.servers": servers})  # its futures are answered only while it is there
    for future in admin.create_topics(new).values():
        future.result(30)
    producer = Producer(
        {"bootstrap.servers": servers, "partitioner": "murmur2_random", "linger.ms": 20, "batch.size": 500_000}
    )
    for topic, key, value in rows:
        while True:
            try:
                producer.produce(f"{given}{topic}", key=key, value=value)
                break
            except BufferError:
                producer.poll(0.1)
    assert producer.flush(120) == 0


def usage(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """CPU-seconds so far, and the peak of the resident memory in MiB."""
    proc = Path(f"/proc/{process.pid}")
    fields = (proc / "stat").read_text().rpartition(")")[2].split()
    peak = next(line for line in (proc / "status").read_text().splitlines() if line.startswith("VmHWM"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1_024


def done(contender: Contender, setting: Setting) -> int:
    """How many offsets of its inputs the group has committed; of all that are there, when it has nothing left to do."""
    topics = contender.topics(setting)
    try:
        at, end = group_offsets(setting.servers, setting.tag, topics), ends(setting.servers, topics, committed=True)
    except KafkaException:
        return 0
    public = sum(offset for (topic, _), offset in at.items() if topic.startswith(setting.given))
    # the end of the last transaction is behind the last record of the chain, and may not be committed
    left = sum(max(0, offset - at.get(tp, 0) - 1) for tp, offset in end.items())
    return -public if left == 0 else public


def written(setting: Setting) -> int:
    """How far `acceptance` goes; a topic that was just made has no leader for a moment."""
    with suppress(KafkaException):
        return sum(ends(setting.servers, [f"{setting.prefix}{record.ACCEPTANCE}"], committed=True).values())
    return 0


def measure(contender: Contender, setting: Setting) -> Measured:
    """One round of one contender."""
    setting.create_topics()
    processes = contender.launch(setting)
    try:

        def alive(answer: object) -> object:
            ended = [process.returncode for process in processes if process.poll() is not None]
            assert not ended, f"{contender.name} ended with {ended}; see {setting.scratch}"
            return answer

        until(lambda: alive(written(setting)), "a first output", 120)
        first, began = abs(done(contender, setting)), time.monotonic()
        used = sum(usage(process)[0] for process in processes)
        until(lambda: alive(done(contender, setting) < 0), f"{contender.name} is through", LIMIT_SECONDS)
        seconds, count = time.monotonic() - began, -done(contender, setting) - first
        measured = [usage(process) for process in processes]
        cpu = sum(spent for spent, _ in measured) - used
        return Measured(count / seconds, cpu / count * 100_000, sum(peak for _, peak in measured))
    finally:
        for process in processes:
            process.kill()
            process.wait()


def answers(messages: Iterable[Message]) -> Answers:
    """The last acceptance of each run."""
    found: Answers = {}
    for message in messages:
        value = orjson.loads(message.value() or b"null")
        found[(message.key() or b"").decode()] = value["status"], value["reasons"]
    return found


def expected(rows: Iterable[Given]) -> Answers:
    """The same from the pure step alone, with no broker."""
    replay, found = Replay(Settings()), {}
    for topic, key, value in rows:
        for output in replay.put(topic, key, value):
            if output.topic == record.ACCEPTANCE:
                answer = orjson.loads(output.value or b"null")
                found[(output.key or b"").decode()] = answer["status"], answer["reasons"]
    return found


def differences(contender: Contender, setting: Setting, right: Answers) -> int:
    """How many runs have another answer; of a contender that reads no commit events, among those without one."""
    found = answers(read(setting.servers, f"{setting.prefix}{record.ACCEPTANCE}"))
    compared = {run: answer for run, answer in right.items() if contender.whole or not is_late(answer)}
    return sum(found.get(run) != answer for run, answer in compared.items())


def is_late(answer: tuple[str, list[str]]) -> bool:
    return any(reason.startswith("late:") for reason in answer[1])


def shares(names: list[str]) -> Iterator[float]:
    """The sizes of the inputs that these need."""
    yield from sorted({CONTENDERS[name].records for name in names})


def build(names: list[str]) -> None:
    """What is not there yet of the peers."""
    if any(name.startswith("streams") for name in names):
        maven = ["mvn", "-q", "-B", "-f", str(STREAMS / "pom.xml"), "compile", "dependency:copy-dependencies"]
        subprocess.run(maven, check=True)
    assert QUIX.exists() or "quix" not in names, "make .venv-quix: quixstreams, and msgspec as in constraints.txt"


def table(found: dict[str, list[Measured]]) -> Iterator[str]:
    """Medians, and how far they spread."""
    yield "| | records/s (min to max) | CPU-s per 100,000 | peak MiB | records/s beside this | CPU beside this |"
    yield "|---|---|---|---|---|---|"
    own = {which: statistics.median(getattr(m, which) for m in found["product"]) for which in ("rate", "cpu")}
    for name, measured in found.items():
        rates = sorted(m.rate for m in measured)
        rate, cpu = statistics.median(rates), statistics.median(m.cpu for m in measured)
        spread = f"{rate:,.0f} ({rates[0]:,.0f} to {rates[-1]:,.0f})"
        beside = f"{rate / own['rate']:.2f} | {cpu / own['cpu']:.2f}"
        yield f"| {CONTENDERS[name].name} | {spread} | {cpu:.1f} | {max(m.peak for m in measured):,.0f} | {beside} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.throughput")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--signals", type=int, default=10, help="of each run")
    parser.add_argument("--only", action="append", choices=sorted(CONTENDERS))
    parser.add_argument("--keep", type=Path, help="a directory for logs that are to be kept")
    args = parser.parse_args()
    names = list(dict.fromkeys(["product", *(args.only or CONTENDERS)]))
    build(names)
    found: dict[str, list[Measured]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="bench-") as made, kafka() as servers:
        right = {}
        for share in shares(names):
            rows = list(records(int(args.records * share), args.signals))
            fill(servers, f"in-{share}.", rows)
            right[share] = expected(rows)
        for number in range(args.rounds):
            for name in names if number % 2 == 0 else reversed(names):
                contender = CONTENDERS[name]
                setting = Setting(servers, f"in-{contender.records}.", f"{name}-{number}", args.keep or Path(made))
                found[name].append(measure(contender, setting))
                wrong = differences(contender, setting, right[contender.records])
                print(f"{name}: {found[name][-1]}, {wrong} runs with another answer", flush=True)
    print(f"\n{args.records:,} records, {args.signals} signals a run, medians of {args.rounds}\n")
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
