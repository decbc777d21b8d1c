"""One broker that asks who is there, for all tests of security; and what was printed, searched for the password."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from processor.permissions import Permission
from processor.settings import OURS, Settings
from tests import children
from tests.broker import REPOSITORY, NoKafka
from tests.e2e.world import Worker
from tests.security import broker
from tests.security.broker import PASSWORD, Secured


@dataclass
class Here:
    """The broker, names that no other test has, and programs that run with settings."""

    kafka: Secured
    scratch: Path
    tag: str = field(default_factory=lambda: f"s{uuid.uuid4().hex[:8]}")
    workers: list[Worker] = field(default_factory=list)

    @property
    def names(self) -> dict[str, str]:
        """The settings that name what is this test's."""
        return {"APPLICATION_ID": self.tag, "TOPIC_PREFIX": f"{self.tag}.", "TOPIC_PARTITIONS": "1"}

    @property
    def settings(self) -> Settings:
        """For whoever may do everything."""
        plain = self.kafka.servers("PLAINTEXT")
        return Settings(kafka_bootstrap_servers=plain, **{name.lower(): value for name, value in self.names.items()})  # type: ignore[arg-type]

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """This process's, without its settings and with these."""
        ours = {name for name in os.environ if name.lower() in Settings.model_fields or name.startswith(OURS)}
        return {name: value for name, value in os.environ.items() if name not in ours} | self.names | dict(given)

    def run(self, given: Mapping[str, str], *args: str) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        return self.python(given, "-m", "processor", *args)

    def python(self, given: Mapping[str, str], *args: str) -> subprocess.CompletedProcess[str]:
        """Python to its end. The password is in nothing that it prints."""
        done = subprocess.run(
            [sys.executable, *args],
            env=self.environment(given),
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert PASSWORD not in done.stdout + done.stderr
        return done

    def worker(self, given: Mapping[str, str]) -> Worker:
        """A worker process."""
        log = self.scratch / f"worker-{len(self.workers)}.log"
        with log.open("wb") as out:
            process = children.start(
                [sys.executable, "-m", "processor", "worker"],
                env=self.environment(given),
                cwd=REPOSITORY,
                stdout=out,
                stderr=out,
            )
        self.workers.append(Worker(process, log))
        return self.workers[-1]

    def allow(self, user: str, permissions: list[Permission]) -> dict[str, str]:
        """The settings of a user that may do this and nothing else."""
        self.kafka.revoke(f"User:{user}")
        self.kafka.grant(f"User:{user}", permissions)
        return self.kafka.environment(user)


@pytest.fixture(scope="session")
def secured() -> Iterator[Secured]:
    """The broker; where there is none the tests are skipped."""
    with ExitStack() as stack:
        try:
            made = stack.enter_context(broker.secured())
        except NoKafka as reason:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"no Kafka: {reason}")
        yield made


@pytest.fixture
def here(secured: Secured, tmp_path: Path) -> Iterator[Here]:
    """Names of its own. No worker outlives the test, and none has said the password."""
    made = Here(secured, tmp_path)
    yield made
    for worker in made.workers:
        worker.kill()
        assert PASSWORD not in worker.said()
