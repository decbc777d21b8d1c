"""docs/dead-letters.md says what is: its codes are all of them, and its commands do what it says."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from processor import record
from tests.commands.cli import acceptance
from tests.docs.tables import README
from tests.e2e.world import World, value, world
from topics.acceptance_dead_letters import AddedHeaders, Code

TEXT = (README.parent / "docs" / "dead-letters.md").read_text(encoding="utf-8")
SHELL = "\n".join(re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
COMMANDS = [shlex.split(line)[1:] for line in SHELL.splitlines() if line]
PLACE = "0:17"  # what the page calls the letter to be shown


@pytest.fixture
def here(kafka: str, tmp_path: Path) -> Iterator[World]:
    """A world whose runs hold one signal."""
    with world(kafka, tmp_path, MAX_SIGNALS_PER_RUN="1") as made:
        made.create()
        yield made


def test_each_code_and_header_has_its_row() -> None:
    """In the order in which they are looked for."""
    assert tuple(re.findall(r"^\| `(\w+)` \| ", TEXT, re.MULTILINE)) == Code.__args__  # type: ignore[attr-defined]
    for name in (field.alias or "" for field in AddedHeaders.model_fields.values()):
        assert f"`{name}`" in TEXT or f"`.{name.rpartition('.')[2]}`" in TEXT, name


def test_the_commands_bring_back_what_a_limit_refused(here: World) -> None:
    """A signal that found its run full is listed, shown, and applied once there is room."""
    worker = here.worker()
    for name in ("tests", "review"):
        signal = {"id": name, "kind": "verdict", "name": name, "value": "pass", "tier": "verified"}
        signal |= {"observed_at": "2026-03-01T12:00:00Z"}
        here.produce([(record.SIGNALS, b"r", orjson.dumps(signal))])
        here.settle()
    worker.kill()
    (letter,) = here.read(record.DEAD_LETTERS)
    here.worker(MAX_SIGNALS_PER_RUN="2")
    for command in COMMANDS:
        place = f"{letter.partition()}:{letter.offset()}"
        done = acceptance(here.settings, *(place if word == PLACE else word for word in command))
        assert (done.returncode, done.stderr) == (1 if "list" in command else 0, "")
    here.settle()
    assert [value(message)["used"] for message in here.read(record.ACCEPTANCE)] == [[], []]
    assert len(here.read(record.DEAD_LETTERS)) == 1
