"""Fixtures that every directory of tests may use."""

import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests import broker


@pytest.fixture(scope="session")
def kafka() -> Iterator[str]:
    """The bootstrap servers of a real Kafka; a test that asks for it is skipped where there is none."""
    with ExitStack() as stack:
        try:
            servers = stack.enter_context(broker.kafka())
        except broker.NoKafka as reason:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no Kafka: {reason}")
        yield servers
