"""`acceptance watch`: what is printed of a change, and that it can do a terminal no harm."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from processor import broker, display, harmless, topics_admin
from processor.partitioner import partition_of
from processor.replay import Replay
from processor.settings import Settings
from tests.commands.cli import acceptance, environment
from topics.acceptance_changed import RECORD, AcceptanceChanged

HOSTILE = "\x1b[2J\x1b]0;title\x07 [red]bold[/red] :boom: \u202egnp.exe\u2066 \x9b31m\r\n\x00 "


def change(run: str = "run_1", title: str | None = None) -> AcceptanceChanged:
    """A change as the pipeline makes it: a run whose only verdict fails."""
    rule = {"name": "r", "definition": "", "requires": ["tests"]}
    privacy = {"profile": "metadata_only"}
    document = {"id": run, "title": title, "ended_at": "2026-09-23T17:50:00Z", "acceptance_rule": rule}
    verdict = {"id": "s", "kind": "verdict", "name": "tests", "value": "fail", "tier": "verified"}
    records: list[tuple[str, dict[str, object]]] = [
        ("runs", {"ocp": "0.3", "producer": {"name": "p"}, "privacy": privacy, "run": document, "nodes": []}),
        ("signals", verdict | {"observed_at": "2026-09-23T17:56:00Z"}),
    ]
    replay = Replay(Settings())
    outputs = [o for topic, value in records for o in replay.put(topic, run.encode(), json.dumps(value).encode())]
    return RECORD.validate_json(next(o.value or b"" for o in outputs if o.topic == "acceptance-changed"))


@given(st.text(st.characters()))
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    """Whatever the text, what is shown of it can be printed, and is bounded."""
    shown = harmless.harmless(text)
    assert shown.isprintable()
    assert len(shown) <= 10 * harmless.LONGEST_FIELD


@given(st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=harmless.LONGEST_FIELD))
def test_what_is_harmless_stays_as_it_is(text: str) -> None:
    """Letters of any script, digits, signs and brackets are shown as they are."""
    assert harmless.harmless(text) == text


def test_a_line_says_when_what_whose_and_why() -> None:
    """One line a change."""
    assert display.line(change(title="Retry uploads")).plain == (
        "2026-09-23 17:56:00  rejected    run_1  unknown → rejected  “Retry uploads”  failed:tests"
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_a_hostile_title_is_one_line_of_text(terminal: bool) -> None:
    """No markup, no emoji, no escape of the record's own: the only escapes are the colours, and those on a terminal."""
    console = Console(
        file=io.StringIO(), force_terminal=terminal, markup=False, emoji=False, highlight=False, soft_wrap=True
    )
    console.print(display.line(change(title=HOSTILE)))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    for colour in ("\x1b[31m", "\x1b[2m", "\x1b[0m"):
        printed = printed.replace(colour, "")
    assert printed.count("\n") == 1
    assert printed.rstrip("\n").isprintable()
    assert "[red]bold[/red] :boom:" in printed


async def announce(settings: Settings, *changes: AcceptanceChanged | bytes, topic: str = "acceptance-changed") -> None:
    """Put changes on a topic as a worker would."""
    async with broker.producer(settings) as producer:
        for one in changes:
            key = b"" if isinstance(one, bytes) else one.run_id.encode()
            value = one if isinstance(one, bytes) else RECORD.dump_json(one, by_alias=True)
            partition = partition_of(key, settings.topic_partitions)
            await producer.send_and_wait(settings.topic(topic), value, key=key, partition=partition)


@contextmanager
def watching(settings: Settings, *args: str) -> Iterator[subprocess.Popen[str]]:
    """`acceptance watch` while the block lasts."""
    command = [sys.executable, "-m", "processor", "watch", *args]
    with subprocess.Popen(
        command,
        env=environment(settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a shell's background job ignores Ctrl-C, and would hand that down
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_prints_what_is_there_and_ends_on_ctrl_c(settings: Settings) -> None:
    """A record that is none is left out with a word, and does not end it."""
    asyncio.run(topics_admin.apply(settings))
    asyncio.run(announce(settings, b"nonsense", change("run_1"), change("run_2")))
    with watching(settings, "--from-beginning") as process:
        assert process.stdout is not None
        lines = {process.stdout.readline() for _ in range(2)}
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert {line.split()[3] for line in lines} == {"run_1", "run_2"}
    assert errors.count("\n") == 1
    assert "no change record" in errors
    assert process.returncode == 130


def test_one_run_alone_in_json(settings: Settings) -> None:
    """`--run` leaves the others out; `--json` gives the whole record, in ASCII."""
    asyncio.run(topics_admin.apply(settings))
    mine = change("run_1", HOSTILE)
    asyncio.run(announce(settings, *(change(f"run_{n}") for n in range(2, 30)), mine, topic="acceptance-reversed"))
    with watching(settings, "--reversed", "--from-beginning", "--run", "run_1", "--json") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
    assert line.isascii()
    assert json.loads(line) == json.loads(RECORD.dump_json(mine, by_alias=True))


def test_a_topic_that_is_not_there(settings: Settings) -> None:
    """78, its name, and what to look at."""
    ended = acceptance(settings, "watch")
    assert ended.returncode == os.EX_CONFIG
    assert settings.topic("acceptance-changed") in ended.stderr
    assert "TOPIC_PREFIX" in ended.stderr
