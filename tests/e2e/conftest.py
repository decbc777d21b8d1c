"""Fixtures of the end-to-end tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.world import World, world


@pytest.fixture
def here(kafka: str, tmp_path: Path) -> Iterator[World]:
    """A world of its own on the shared broker. Its topics are made by the test."""
    with world(kafka, tmp_path) as made:
        yield made
