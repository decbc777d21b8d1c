"""Waiting for a condition, with a limit; never for a length of time."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
TICK = threading.Event()  # never set: to look again in a moment


def until(condition: Callable[[], T], what: str, seconds: float = 30) -> T:
    """The condition's first true answer; AssertionError when none came in time."""
    limit = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < limit, f"waited {seconds} s in vain: {what}"
        TICK.wait(0.05)
