"""The README says what is: its table, its examples, its commands and its program are checked against the code."""

import asyncio
import json
import re
import shlex
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import NamedTuple

import pytest

from processor import cli, embedded, topics_admin
from processor.replay import replay
from processor.settings import Settings
from tests.commands.cli import acceptance, environment
from tests.docs.tables import README
from topics import TOPICS
from topics.acceptance_changed import Transition
from topics.acceptance_dead_letters import Code

TEXT = README.read_text(encoding="utf-8")
EXAMPLE = README.parent / "demo" / "reverted.jsonl"
LIMIT_SECONDS = 90
INPUTS = [json.loads(line) for line in EXAMPLE.read_text(encoding="utf-8").splitlines()]


class Block(NamedTuple):
    """A fenced block: its language, what else its first line says, and its text."""

    language: str
    about: dict[str, str]
    text: str


def blocks(language: str) -> list[Block]:
    """The README's fenced blocks in this language."""
    found = re.findall(r"^```(\w+)([^\n]*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return [
        Block(name, dict(word.split("=") for word in about.split()), text)
        for name, about, text in found
        if name == language
    ]


@pytest.mark.parametrize("block", blocks("json"), ids=lambda block: "-".join(block.about.values()))
def test_every_example_is_a_record_of_its_topic(block: Block) -> None:
    """By the topic's model, as a reader would decode it."""
    TOPICS[block.about["topic"]].RECORD.validate_json(block.text)


def test_the_examples_go_in() -> None:
    """What is shown of each input topic is in the example's file, the same."""
    shown = [block for block in blocks("json") if block.about["topic"] in ("runs", "signals", "commit-events")]
    assert len(shown) == 3
    for block in shown:
        assert json.loads(block.text) in [i["value"] for i in INPUTS if i["topic"] == block.about["topic"]]


def test_the_examples_come_out() -> None:
    """What is shown of each output topic is what the example's file leads to, the same."""
    outputs = [json.loads(line) for line in replay(EXAMPLE.read_bytes().splitlines(), Settings())]
    shown = [block for block in blocks("json") if "version" in block.about]
    assert len(shown) == 2
    for block in shown:
        topic, version = block.about["topic"], int(block.about["version"])
        assert json.loads(block.text) in [
            o["value"] for o in outputs if o["topic"] == topic and o["value"]["version"] == version
        ]


def test_the_command_lines_are_understood() -> None:
    """Each `acceptance …` in a shell block is one that the command line takes."""
    commands = [
        shlex.split(line, comments=True)[1:]
        for block in blocks("sh")
        for line in block.text.splitlines()
        if line.startswith("acceptance ")
    ]
    assert len(commands) >= 4
    for command in commands:
        cli.parser().parse_args(command)


def test_every_transition_and_code_is_explained() -> None:
    """A subscriber can look up whatever may come."""
    for word in (*Transition.__args__, *Code.__args__):  # type: ignore[attr-defined]
        assert f"`{word}`" in TEXT, word


def test_files_that_are_named_are_there() -> None:
    """In links and in code."""
    for path in re.findall(r"\]\(([\w./]+)\)|`((?:demo|docs|deploy|topics)/[\w./*-]+)`", TEXT):
        assert list(README.parent.glob("".join(path))), path


@pytest.mark.parametrize("block", blocks("python"))
def test_the_subscriber_pages(block: Block, kafka: str, tmp_path: Path) -> None:
    """The program, but for the topic's prefix: it pages, and resolves when the run no longer names the commit."""
    unique = f"readme-{uuid.uuid4().hex[:8]}"
    settings = Settings(kafka_bootstrap_servers=kafka, application_id=unique, topic_prefix=f"{unique}-")
    program = tmp_path / "subscriber.py"
    program.write_text(
        block.text.replace("acceptance-reversed", settings.topic("acceptance-reversed")), encoding="utf-8"
    )
    asyncio.run(topics_admin.apply(settings))
    with embedded.children() as children:
        children.start("worker", [sys.executable, "-m", "processor", "worker"], environment(settings))
        command = [sys.executable, str(program)]
        with subprocess.Popen(command, env=environment(settings), stdout=subprocess.PIPE, text=True) as subscriber:
            limit = threading.Timer(LIMIT_SECONDS, subscriber.kill)  # then there is nothing to read, and it fails
            limit.start()
            try:
                assert subscriber.stdout is not None
                assert acceptance(settings, "produce", str(EXAMPLE)).returncode == 0
                assert subscriber.stdout.readline() == (
                    "PAGE run_1: Retry uploads (revert 1.97 days after it ended, "
                    "commit 4f2a9c1be07d4f2a9c1be07d4f2a9c1be07d4f2a)\n"
                )
                document = next(i for i in INPUTS if i["topic"] == "runs")
                without = {**document, "value": {**document["value"], "artifacts": []}}
                assert acceptance(settings, "produce", "-", given=json.dumps(without)).returncode == 0
                assert subscriber.stdout.readline() == "RESOLVE run_1: now accepted\n"
            finally:
                limit.cancel()
                subscriber.kill()
