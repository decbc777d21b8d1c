"""Child processes of the tests: none outlives the process that started it, even when that one is killed."""

import ctypes
import signal
import subprocess
import sys
from typing import Any

PR_SET_PDEATHSIG = 1


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a child; on Linux the kernel kills it when we are gone."""
    return subprocess.Popen(command, preexec_fn=_die_with_parent, **options)
