"""Hostile text, wherever it comes from, is shown and does nothing: on a terminal, in a pipe and in a log."""

import asyncio
import io
import json
import re
import sys
import unicodedata
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import MessageSizeTooLargeError

from processor import answers, broker, display, embedded, replay, topics_admin, what_if
from processor.dead_letter_box import dump, opened
from processor.engine import publish
from processor.record import DEAD_LETTERS
from processor.settings import Settings
from processor.tally import Tally
from tests.commands.cli import on_screen
from tests.commands.test_watch import announce, change
from topics.acceptance import CountedEvent

PLAIN = "plain"
HOSTILE = {  # text → how it is shown
    "\x1b[31mred\x9b31m": r"\x1b[31mred\x9b31m",
    "\x1b]8;;http:evil\x07x": r"\x1b]8;;http:evil\x07x",
    "[red]x[/red] [link=http://evil]x": "[red]x[/red] [link=http://evil]x",
    "y[/] :boom: slash\\": "y[/] :boom: slash\\",
    "\u202egnp.exe\u2066\u2028a\u200bb": r"\u202egnp.exe\u2066\u2028a\u200bb",
    "r\rn\n2026-01-01 00:00:00,000 ERROR fake": r"r\rn\n2026-01-01 00:00:00,000 ERROR fake",
    "t\tb\x7f\x00": r"t\tb\x7f\x00",
    "x" * 10_000: "x" * 150,
    PLAIN: PLAIN,
}
NAME = "".join(text for text in HOSTILE if not {"\0", "/"} & {*text} and len(text) < 100) + "\udcff"
PLAN = topics_admin.plan(Settings())[0]
TIME = "2026-09-23T17:56:00Z"
on_both = pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])


def lines_of(said: str, longest: int = 2_500) -> list[str]:
    """The lines of what was printed: no control or format character is in them, and they are not without end."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said).removesuffix("\n").split("\n")  # less the program's own colours
    assert not [c for line in lines for c in line if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert max(map(len, lines)) <= longest
    return lines


def changes(text: str) -> list[Any]:
    """Two changes with the text wherever it can be: one shows reasons, one a late event."""
    members = {"id": text[:200], "name": text[:200], "value": text[:500], "source": None, "observed_at": TIME}
    late = CountedEvent(**members, days_after_end=None, tier="asserted", commit=None, match=None)
    free = {"run_id": text[:200], "title": text[:500], "reasons": [text]}
    return [change().model_copy(update=free | more) for more in ({}, {"late_events": [late], "reversed": True})]


def letter(text: str, value: bytes | None = None, **forged: str) -> Any:
    """A dead letter with the text wherever it can be."""
    ours = {"exception": text, "message": text, "topic": "signals", "partition": "0", "offset": "1"} | forged
    added = {f"__streams.errors.{name}": said for name, said in ours.items()} | {"ocp.errors.path": text}
    added |= {"ocp.errors.code": "schema", "ocp.errors.timestamp": "1", "ocp.redrive.attempt": "0"}
    headers = [(name, said.encode()) for name, said in ((text, text), *added.items())]
    found = {"key": text.encode(), "value": value or text.encode(), "headers": headers}
    return SimpleNamespace(partition=0, offset=0, timestamp=0, **found)


@pytest.fixture(scope="module")
def there(embedded_broker: str) -> Settings:
    """A broker with changes and dead letters on it; some of these are forgeries, which are not listed."""
    own = dict.fromkeys(("application_id", "topic_prefix"), uuid.uuid4().hex[:8])
    settings = Settings(kafka_bootstrap_servers=embedded_broker, topic_partitions=1, **own)
    letters = [*map(letter, HOSTILE), letter("f", topic="run-inputs\x1b[2J"), letter("f", offset="9" * 5_000)]
    told = [one for text in HOSTILE for one in changes(text)]

    async def fill() -> None:
        await topics_admin.apply(settings)
        for topic in ("acceptance-changed", "acceptance-reversed"):
            await announce(settings, *told, change("the-end"), topic=topic)
        async with broker.producer(settings) as producer:
            for one in letters:
                await producer.send_and_wait(settings.topic(DEAD_LETTERS), one.value, one.key, headers=one.headers)

    asyncio.run(fill())
    return settings


NAMED = ("replay", "produce", "what-if --rule", "watch --", "topic_runs", "kafka_bootstrap_servers")
RECORDS = {"watch": 2, "watch --reversed": 2, "dead-letters list": 1, "dead-letters redrive": 2}  # lines for a text


@on_both
@pytest.mark.parametrize("command", RECORDS)
def test_a_record_has_its_lines_and_no_other(there: Settings, command: str, terminal: bool) -> None:
    """The text is shown wherever harmless text is."""
    args = [*command.split(), *(["--from-beginning"] if "watch" in command else [])]
    lines, each = lines_of(on_screen(there, *args, terminal=terminal, last="the-end")), RECORDS[command]
    assert len(lines) == each * len(HOSTILE) + (2 if "redrive" in command else 1)
    of = {shown: "\n".join(lines[each * at : each * (at + 1)]) for at, shown in enumerate(HOSTILE.values())}
    assert {shown: of[shown].count(shown) for shown in of} == dict.fromkeys(of, of[PLAIN].count(PLAIN))


@on_both
def test_json_gives_back_the_text(there: Settings, terminal: bool, tmp_path: Path) -> None:
    """One line a record; exactly, and whole."""
    said = on_screen(there, "watch", "--from-beginning", "--json", terminal=terminal, last="the-end")
    assert [json.loads(line)["title"] for line in lines_of(said, 90_000)[:-1:2]] == [text[:500] for text in HOSTILE]
    said = on_screen(there, "dead-letters", "list", "--json", terminal=terminal)
    for text, found in zip(HOSTILE, map(json.loads, lines_of(said, 90_000)), strict=True):
        assert [found[name] for name in ("key", "value", "message", "path", "headers")] == [text] * 4 + [[[text, text]]]
    bad = [{"topic": "signals", "key": text, "value": text, "headers": [[text, text]]} for text in HOSTILE]
    (tmp_path / "f").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in bad), encoding="utf-8")
    found = map(json.loads, lines_of(on_screen(there, "replay", "f", terminal=terminal, cwd=tmp_path), 90_000))
    assert [(line["key"], line["headers"][0]) for line in found] == [(text, [text, text]) for text in HOSTILE]


@on_both
@pytest.mark.parametrize("command", NAMED)
def test_names_are_one_line(there: Settings, command: str, terminal: bool, tmp_path: Path) -> None:
    """Those of bad files, of options that are none, of topics and brokers that cannot be."""
    (tmp_path / NAME).write_text("{}")
    given = {command: NAME[:-1]} if command in Settings.model_fields else {}
    args = ["topics", "plan"] if given else [*command.split(), NAME]
    said = lines_of(on_screen(there.model_copy(update=given), *args, terminal=terminal, cwd=tmp_path))
    assert r"\x1b[31mred\x9b31m\x1b]8;;http:evil\x07x" in said[-1]
    assert len(said) == 1 + (command == "watch --")  # usage


def rendered(text: str) -> dict[str, Any]:
    """What shows the text, with it wherever it can be."""
    event = {"id": text, "name": text, "value": text, "source": {"kind": text, "ref": text}, "observed_at": TIME}
    event |= {"counts": 1, "days_after_end": 1.0, "days_before_close": 2.0, "commit": None, "tier": "asserted"}
    cause = {"topic": text, "partition": 0, "offset": 0, "signal": {"name": text, "id": text}}
    past = {"seq": 1, "transition": "accepted", "from": "unknown", "to": "accepted", "cause": cause}
    run = dict.fromkeys(("as_of", "ended_at", "window_closes_at", "reversed", "truncated", "expired")) | {
        "history_is_whole": True
    }
    run |= {"run_id": text, "title": text, "accepted_at": TIME, "accepted_at_attempt": {"id": text, "number": 1}}
    run |= {"clauses": [{"holds": False, "file": text, "reason": text, "decided_by": [event]}], "history": [past]}
    run |= {"late_events": [event], "violations": [text], "reasons": [], "status": "rejected"}
    flip = {"run_id": text, "from": "accepted", "to": "rejected", "reasons": [text]}
    tally = Tally({})
    for one in changes(text):
        tally.changed(one)
    return {
        "explain": answers.explanation(run),
        "what-if": answers.outcome_table(what_if.Outcome(flips=[flip])),
        "table": display.table(tally, 40),
        "summary": display.summary(tally),
        "show": dump(opened(letter(text, b"{}"))),
        "topics": "\n".join(topics_admin._lines("check", topics_admin.Finding(PLAN, None, [text]))),
    }


@on_both
@pytest.mark.parametrize("what", rendered(PLAIN))
def test_what_is_rendered(what: str, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as long and shows as much as with harmless text."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "1000")
    shown = {}
    for text, how in HOSTILE.items():
        monkeypatch.setattr(sys, "stdout", screen := io.StringIO())
        screen.isatty = lambda: terminal
        display.console().print(rendered(text)[what])
        lines = lines_of(screen.getvalue())
        shown[text] = (len(lines), "\n".join(lines).count(how))
    assert shown == dict.fromkeys(HOSTILE, shown[PLAIN])
    assert shown[PLAIN][1] > 0


LOG = """from processor.engine import exits, worker; from tests.commands.test_injection import HOSTILE
worker.configure_logging(); [exits.log.error("%s", text) for text in HOSTILE]
exits.die_of(ValueError(chr(10).join(HOSTILE)), "reading")"""


@on_both
def test_a_log_line_is_one_line(there: Settings, terminal: bool) -> None:
    """Whatever it quotes; what a traceback quotes does not pass for one."""
    said = lines_of(on_screen(there, "-c", LOG, terminal=terminal), 4_100)
    lines = [line for line in said if not line.startswith("  ")]
    assert all(re.match(r"\d{4}-.* (ERROR|CRITICAL) ", line) for line in lines)
    assert all(shown in line for shown, line in zip(HOSTILE.values(), lines[:-2], strict=True))
    assert lines[-1].endswith("the state was left as it was (exit 70)")


@pytest.mark.parametrize("text", HOSTILE, ids=[ascii(text)[1:20] for text in HOSTILE])
def test_what_else_is_quoted(text: str, tmp_path: Path) -> None:
    """The key of a record that is too large to write, a topic that is none, what a child said, a letter's value."""
    producer = SimpleNamespace(create_batch=lambda: SimpleNamespace(append=lambda **_: 1, size=lambda: 4_000_000))
    with pytest.raises(MessageSizeTooLargeError) as large:
        asyncio.run(publish.send(producer, SimpleNamespace(topic="t"), [(text.encode(), b"", ())]))
    with pytest.raises(replay.BadLine) as bad:
        list(replay.replay([json.dumps({"topic": text, "key": "k", "value": 1}).encode()]))
    assert [len(lines_of(str(raised.value))) for raised in (large, bad)] == [1, 1]
    (tmp_path / "worker.log").write_text(text, encoding="utf-8")
    lines_of(embedded.Children(tmp_path).last_words("worker"))
    lines_of(dump(opened(letter(text))))
