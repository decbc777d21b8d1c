"""Runs the command line as its users do: as a process, with settings in the environment."""

import os
import subprocess
import sys

from processor.settings import Settings


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
