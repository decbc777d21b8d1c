"""Exactly what docs/security.md says is enough, and nothing of it is too much."""

import asyncio
import itertools
import json
import shlex
import signal
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError

from processor import cli, topics_admin
from processor.engine import worker
from processor.failure import Failure
from processor.permissions import Permission
from processor.pipelines import pipelines
from processor.settings import Settings
from tests.broker import REPOSITORY
from tests.security.broker import PASSWORD, Secured
from tests.security.conftest import Here
from tests.security.roles import ROLES, SUBSCRIBERS_GROUP
from tests.waiting import until

EXAMPLE = REPOSITORY / "demo" / "reverted.jsonl"
RULE = {"name": "r", "definition": "d", "requires": ["tests"], "excludes_events": []}


def test_the_documented_permissions_are_enough(here: Here) -> None:
    """Each program has what its row says: topics are made, a revert goes all the way to a subscriber and to every
    command, and its run is settled."""
    may = {role: here.allow(role, ROLES[role].needed(here.settings)) for role in ROLES}
    made = here.run(may["apply"], "topics", "apply")
    assert made.returncode == 0, made.stderr
    assert here.run(may["check"], "topics", "check").returncode == 0
    running = here.worker(may["worker"] | {"SETTLE_GRACE_SECONDS": "0", "STATE_RETENTION_DAYS": "100000"})
    running.wait_said("serving")
    long_ago = here.scratch / "records.jsonl"
    long_ago.write_text(EXAMPLE.read_text().replace("2026-", "2020-") + '{"topic":"signals","key":"k","value":"no"}\n')
    produced = here.run(may["produce"], "produce", str(long_ago))
    assert produced.returncode == 0, produced.stderr

    def explained() -> list[str]:
        asked = here.run(may["explain"], "explain", "run_1", "--json")
        return [change["transition"] for change in json.loads(asked.stdout)["history"]] if asked.returncode == 0 else []

    running.wait(lambda: explained()[-1:] == ["settled"], "the run is settled")
    assert "reversed" in explained()
    assert alerts(here, may["subscriber"]) == ["reversed"]
    rule = here.scratch / "rule.json"
    rule.write_text(json.dumps(RULE))
    assert here.run(may["what-if"], "what-if", "--rule", str(rule)).returncode == 1
    assert "1 schema" in here.run(may["letters"], "dead-letters", "list").stdout
    redriven = here.run(may["redrive"], "dead-letters", "redrive", "--execute")
    assert redriven.returncode == 0, redriven.stderr
    running.send(signal.SIGTERM)
    assert running.wait_end() == 0
    assert all(level not in running.said() for level in ("WARNING", "ERROR", "CRITICAL")), running.said()


def alerts(here: Here, given: dict[str, str]) -> list[str]:
    """The transitions that a subscriber reads first."""
    consumer = Consumer(
        {
            "bootstrap.servers": given["KAFKA_BOOTSTRAP_SERVERS"],
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": given["KAFKA_SASL_MECHANISM"],
            "sasl.username": given["KAFKA_SASL_USERNAME"],
            "sasl.password": PASSWORD,
            "ssl.ca.location": given["KAFKA_SSL_CA_FILE"],
            "group.id": SUBSCRIBERS_GROUP,
            "isolation.level": "read_committed",
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.subscribe([here.settings.topic("acceptance-reversed")])
        message = until(lambda: consumer.poll(0.5), "the subscriber reads an alert")
        assert message.error() is None, KafkaError.str(message.error())
        return [json.loads(message.value())["transition"]]
    finally:
        consumer.close()


ASKED = ROLES.keys() - {"apply", "subscriber"}


def settings_of(names: dict[str, str]) -> Settings:
    return Settings(**{name.lower(): value for name, value in names.items()})  # type: ignore[arg-type]


NAMED = settings_of({"APPLICATION_ID": "one", "TOPIC_PREFIX": "one."})
CASES = [(role, permission) for role in sorted(ASKED) for permission in ROLES[role].needed(NAMED)]


@pytest.fixture(scope="session")
def made(secured: Secured, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Topics, and by role the settings of a user that has what it needs."""
    here = Here(secured, tmp_path_factory.mktemp("one"), tag="one")
    asyncio.run(topics_admin.apply(here.settings))
    return {role: here.names | here.allow(role, ROLES[role].needed(here.settings)) for role in ROLES}


def refused(role: str, settings: dict[str, str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code and the sentence with which it ends, run in this process."""
    if role != "worker":
        code = cli.main(ROLES[role].command)
        return code, capsys.readouterr().err
    try:
        asyncio.run(worker.checked_counts(settings_of(settings), pipelines(settings_of(settings)), transactions=True))
    except Failure as failure:
        return failure.code, str(failure)
    return 0, ""


@pytest.mark.parametrize(("role", "permission"), CASES, ids=lambda of: of if isinstance(of, str) else "-".join(of))
def test_without_one_of_them(
    role: str,
    permission: Permission,
    made: dict[str, dict[str, str]],
    secured: Secured,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """It is refused with 77, the one thing that is lacking, and the command that grants it."""
    for name, value in made[role].items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    Path("rule.json").write_text(json.dumps(RULE))
    principal = f"User:{role}"
    lacks = f"User:{role} lacks {permission.operation} on {permission.resource} {permission.name}. "
    option = {"Topic": "--topic", "Group": "--group", "TransactionalId": "--transactional-id"}[permission.resource]
    grant = f"--allow-principal {principal} --operation {permission.operation} "
    secured.revoke(principal, permission)
    try:
        code, said = refused(role, made[role], capsys)
        assert code == 77
        assert lacks in said
        assert grant in said
        assert said.rstrip().endswith(f"{option} {permission.name}")
        assert said.count("kafka-acls") == 1
    finally:
        secured.grant(principal, [permission])


def test_every_permission_is_explained() -> None:
    """The table of docs/security.md has a row, and a reason, for each; and no other."""
    for role in ROLES.values():
        assert {(p.resource, p.operation) for p in role.needed(NAMED)} == role.why.keys()


def test_without_any(made: dict[str, dict[str, str]], secured: Secured) -> None:
    """A worker's first start names all that it needs, so that it can be granted from what is printed."""
    settings = settings_of(made["worker"] | {"KAFKA_SASL_USERNAME": "reversed"})
    with pytest.raises(Failure) as failure:
        asyncio.run(worker.checked_counts(settings, pipelines(settings), transactions=True))
    commands = str(failure.value).partition(": ")[2].split(" && ")
    assert len(commands) == 4
    assert all("--allow-principal User:reversed " in command for command in commands)
    granted = set[Permission]().union(*map(granted_by, commands))
    assert granted == set(ROLES["worker"].needed(settings))


def granted_by(command: str) -> set[Permission]:
    """What `kafka-acls` grants when it is run so."""
    words = shlex.split(command)
    options = dict(itertools.pairwise(words))
    kinds = {"--topic": "Topic", "--group": "Group", "--transactional-id": "TransactionalId"}
    assert (options.get("--resource-pattern-type") == "prefixed") == ("--transactional-id" in options)
    return {
        Permission(kinds[word], options["--operation"], name)  # type: ignore[arg-type]
        for word, name in itertools.pairwise(words)
        if word in kinds
    }


def test_asking_makes_no_topic(here: Here) -> None:
    """On a broker that makes topics by itself, with all rights: nothing but `topics apply` makes any."""
    given = {"KAFKA_BOOTSTRAP_SERVERS": here.kafka.servers("PLAINTEXT")}
    for args in (("worker",), ("produce", "none.jsonl"), ("watch",), ("explain", "run_1"), ("dead-letters", "list")):
        assert here.run(given, *args).returncode == 78
    assert here.run(given, "topics", "check").returncode == 1
    assert [name for name in here.kafka.admin.list_topics(timeout=10).topics if here.tag in name] == []
