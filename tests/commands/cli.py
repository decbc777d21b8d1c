"""Runs the command line as its users do: as a process, with settings in the environment."""

import os
import signal
import subprocess
import sys
import tty
from contextlib import suppress
from pathlib import Path

from processor.settings import Settings
from tests.broker import REPOSITORY


def environment(settings: Settings) -> dict[str, str]:
    """This process's environment, with these settings in it."""
    given = {name.upper(): str(value) for name, value in settings.model_dump(exclude_unset=True).items()}
    return {name: value for name, value in os.environ.items() if name.lower() not in Settings.model_fields} | given


def acceptance(settings: Settings, *args: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """The command's exit code and what it printed."""
    return subprocess.run(
        [sys.executable, "-m", "processor", *args],
        env=environment(settings),
        input=given,
        capture_output=True,
        text=True,
        timeout=60,
    )


def on_screen(settings: Settings, *args: str, terminal: bool, last: str = "", cwd: Path = REPOSITORY) -> str:
    """What the command (or `-c` and some Python) prints, both streams, on a terminal or into a pipe: all, or up to the
    line with `last` in it."""
    ours, its = os.openpty() if terminal else os.pipe()
    if terminal:
        tty.setraw(its)  # it adds no \r
    with subprocess.Popen(
        [sys.executable, *(() if args[0] == "-c" else ("-m", "processor")), *args],
        env=environment(settings) | {"TERM": "xterm-256color", "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.DEVNULL,
        stdout=its,
        stderr=its,
        cwd=cwd,
        preexec_fn=lambda: signal.alarm(60),
    ) as process:
        os.close(its)
        said = b""
        with suppress(OSError):  # a terminal tells so that the other side has gone
            while not (last and last.encode() in said and said.endswith(b"\n")) and (chunk := os.read(ours, 65_536)):
                said += chunk
        os.close(ours)
        process.kill()
    return said.decode()
