"""The guarantees of section 6, checked from outside on what a reader of committed records sees."""

from collections import Counter

from processor.record import ACCEPTANCE, CHANGED, DEAD_LETTERS, REVERSED, RUNS, SIGNALS
from tests.e2e.world import World, value

COUNTED = (RUNS, SIGNALS)


def broken(world: World) -> dict[str, int]:
    """How often each promise is broken; empty when all are kept."""
    bad: Counter[str] = Counter()
    committed = {(topic, m.partition(), m.offset()): m.key() for topic in COUNTED for m in world.read(topic)}
    accounted = _check_acceptances(world, bad)
    for m in world.read(DEAD_LETTERS):
        headers = {name: (text or b"").decode() for name, text in m.headers() or []}
        prefix = "__streams.errors."
        topic, partition, offset = (headers[prefix + name] for name in ("topic", "partition", "offset"))
        accounted[topic, int(partition), int(offset)] += 1
    counted = Counter({cause: n for cause, n in accounted.items() if cause[0] in COUNTED})
    bad["input that is nowhere"] = len(committed.keys() - counted.keys())
    bad["input applied more than once"] = sum(n - 1 for n in counted.values())
    bad["input that was never committed"] = len(counted.keys() - committed.keys())
    return {promise: n for promise, n in bad.items() if n}


def _check_acceptances(world: World, bad: Counter[str]) -> Counter[tuple[str, int, int]]:
    """Versions and changes are chains, on one partition; returns how often each cause was applied."""
    causes: Counter[tuple[str, int, int]] = Counter()
    version: Counter[bytes | None] = Counter()
    where: dict[bytes | None, int] = {}
    status: dict[bytes | None, str] = {}
    for m in world.read(ACCEPTANCE):
        key, said = m.key(), value(m)
        bad["run on two partitions"] += where.setdefault(key, m.partition()) != m.partition()
        version[key] += 1
        if said is None:  # forgotten: counts as a version, and names no cause
            status[key] = "unknown"
            continue
        bad["version not the next"] += said["version"] != version[key]
        version[key] = said["version"]
        status[key] = said["status"]
        cause = said["cause"]
        causes[cause["topic"], cause["partition"], cause["offset"]] += 1
    seq: Counter[bytes | None] = Counter()
    to: dict[bytes | None, str] = {}
    flips: Counter[tuple[bytes | None, bool]] = Counter()
    before: dict[bytes | None, bool] = {}
    for m in world.read(CHANGED):
        key, said = m.key(), value(m)
        seq[key] += 1
        bad["change not the next"] += said["seq"] != seq[key]
        bad["change from another status"] += said["from"] != to.get(key, "unknown")
        seq[key], to[key] = said["seq"], said["to"]
        if said["reversed"] != before.get(key, False):
            before[key] = said["reversed"]
            flips[key, said["reversed"]] += 1
    bad["last change is not the status"] = sum(to.get(key, "unknown") != now for key, now in status.items())
    alerts = Counter((m.key(), value(m)["reversed"]) for m in world.read(REVERSED))
    bad["alerts differ from the changes"] = sum(((alerts - flips) + (flips - alerts)).values())
    return causes
