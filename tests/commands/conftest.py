"""The embedded broker, and settings that nobody else uses."""

import asyncio
import uuid
from collections.abc import Iterator

import pytest

from processor import embedded
from processor.settings import Settings


@pytest.fixture(scope="session")
def embedded_broker() -> Iterator[str]:
    """The address of a broker in memory; it goes when the tests are over."""
    with embedded.children() as children:
        address = embedded.start_broker(children)
        asyncio.run(embedded.make_topics(Settings(kafka_bootstrap_servers=address), children))  # it answers
        yield address


@pytest.fixture
def settings(embedded_broker: str) -> Settings:
    """Settings whose topics are this test's alone."""
    name = uuid.uuid4().hex[:8]
    return Settings(kafka_bootstrap_servers=embedded_broker, application_id=f"app-{name}", topic_prefix=f"{name}-")
