"""The faults by name. Each gets a field, strikes so often, and leaves the verdict to the verifier."""

from collections.abc import Callable

from tests.faults import on_brokers, on_topics, on_workers
from tests.faults.harness import Field

Fault = Callable[[Field, int], None]

LOOPS: dict[str, tuple[Fault, int]] = {  # with their share of the kills
    "kill-one": (on_workers.kill_one, 5),
    "kill-three": (on_workers.kill_three, 5),
    "kill-points": (on_workers.kill_points, 5),
    "pause": (on_workers.pause, 1),
    "settling": (on_workers.settling, 2),
    "compacted": (on_topics.compacted, 3),
    "two-applications": (on_topics.two_applications, 2),
}
FEW: dict[str, tuple[Fault, int]] = {  # with how often they strike
    "storm": (on_workers.storm, 16),
    "rolling-terms": (on_workers.rolling_terms, 6),
    "refused": (on_workers.refused, 2),
    "timed-out": (on_workers.timed_out, 2),
    "burst": (on_workers.burst, 1),
    "foreign-transactions": (on_topics.foreign_transactions, 2),
    "group-offsets-deleted": (on_topics.group_offsets_deleted, 2),
    "refusing-output": (on_topics.refusing_output, 2),
    "huge-outputs": (on_topics.huge_outputs, 3),
    "broker-killed": (on_brokers.broker_killed, 3),
    "slow-broker": (on_brokers.slow_broker, 2),
    "connections": (on_brokers.connections, 8),
}
REFUSALS: dict[str, Fault] = {
    "changelog-deleted": on_topics.changelog_deleted,
    "changelog-truncated": on_topics.changelog_truncated,
    "changelog-lost-its-end": on_topics.changelog_lost_its_end,
    "input-made-again": on_topics.input_made_again,
    "input-expired": on_topics.input_expired,
    "partitions-raised": on_topics.partitions_raised,
}
THREE: dict[str, tuple[Fault, int]] = {  # on three nodes
    "rolling-brokers": (on_brokers.rolling_brokers, 6),
    "controller-lost": (on_brokers.controller_lost, 2),
    "too-few-in-sync": (on_brokers.too_few_in_sync, 1),
}
FAULTS: dict[str, Fault] = {
    **{name: fault for name, (fault, _) in (LOOPS | FEW).items()},
    **REFUSALS,
    **{name: fault for name, (fault, _) in THREE.items()},
}


def times(name: str, kills: int) -> int:
    """How often a fault strikes in a run of so many kills."""
    if name not in LOOPS:
        return (FEW | THREE)[name][1] if name not in REFUSALS else 1
    shares = sum(share for _, share in LOOPS.values())
    return max(1, round(kills * LOOPS[name][1] / shares))
