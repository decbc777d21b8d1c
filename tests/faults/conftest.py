"""A broker of our own, since faults end it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import broker as kafka
from tests.faults.brokers import Kafka, own


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """A Kafka that can be ended and started again."""
    scratch: Path = tmp_path_factory.mktemp("kafka")
    try:
        kafka.kafka_jars()
    except kafka.NoKafka as reason:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no Kafka to strike: {reason}")
    with own(scratch) as made:
        yield made
