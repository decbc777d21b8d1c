"""Each fault, shortly: it hits, and nothing is lost and nothing said twice."""

from pathlib import Path

import pytest

from tests.faults import faults
from tests.faults.__main__ import run
from tests.faults.brokers import Kafka

LONG_SECONDS = 8
QUICK = {
    "kill-one": 4,
    "kill-points": 8,
    "refused": 1,
    "timed-out": 1,
    "pause": 1,
    "settling": 2,
    "rolling-terms": 2,
    "broker-killed": 1,
    "connections": 4,
    "foreign-transactions": 2,
    "group-offsets-deleted": 1,
    "refusing-output": 1,
    "changelog-truncated": 1,
    "changelog-lost-its-end": 1,
    "partitions-raised": 1,
}


@pytest.mark.parametrize("name", QUICK)
def test_a_fault_breaks_no_promise(broker: Kafka, tmp_path: Path, name: str) -> None:
    """What it is, the fault's own first line says."""
    here = run(broker, tmp_path, name, 11, QUICK[name], LONG_SECONDS)
    assert here.violations == [], faults.FAULTS[name].__doc__
