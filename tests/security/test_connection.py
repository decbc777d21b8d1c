"""Where a broker cannot be spoken to, a command and a worker say why in a sentence, with the setting, and end."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from processor.permissions import on_topics
from tests.security.broker import PASSWORD
from tests.security.certificates import Authority
from tests.security.conftest import Here
from tests.security.roles import ROLES

SECONDS = 15


class Case(NamedTuple):
    """What is set otherwise (None: unset), the exit code, and what the sentence has."""

    change: Callable[[Here], dict[str, str | None]]
    code: int
    says: tuple[str, ...]


def other_authority(here: Here) -> str:
    """A certificate that has signed nobody's here."""
    return str(Authority(here.scratch / "stranger").certificate)


def without_sasl(here: Here, listener: str, **tls: str) -> dict[str, str | None]:
    """The settings for a listener without a login: TLS, or, without a word on TLS, plain text."""
    none = dict.fromkeys(("KAFKA_SASL_MECHANISM", "KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD", "KAFKA_SSL_CA_FILE"))
    protocol = "SSL" if tls else "PLAINTEXT"
    return {**none, "KAFKA_BOOTSTRAP_SERVERS": here.kafka.servers(listener), "KAFKA_SECURITY_PROTOCOL": protocol, **tls}


def tls(here: Here, listener: str) -> dict[str, str | None]:
    return without_sasl(here, listener, KAFKA_SSL_CA_FILE=str(here.kafka.authority.certificate))


def mutual(here: Here, authority: Authority) -> dict[str, str | None]:
    """A certificate of ours, given by this authority; its key has a password."""
    certificate, key = authority.give("client", password=PASSWORD)
    return tls(here, "SSL") | {
        "KAFKA_SSL_CERTIFICATE_FILE": str(certificate),
        "KAFKA_SSL_KEY_FILE": str(key),
        "KAFKA_SSL_KEY_PASSWORD": PASSWORD,
    }


SIGNS_IN = ("KAFKA_SASL_USERNAME", "KAFKA_SASL_PASSWORD", "KAFKA_SASL_MECHANISM=")
SPEAKS = ("KAFKA_SECURITY_PROTOCOL=",)
CASES = {
    "another authority": Case(
        lambda here: {"KAFKA_SSL_CA_FILE": other_authority(here)}, 77, ("not signed", "KAFKA_SSL_CA_FILE")
    ),
    "expired": Case(lambda here: tls(here, "EXPIRED"), 77, ("expired", "Renew it")),
    "another host name": Case(
        lambda here: {"KAFKA_BOOTSTRAP_SERVERS": here.kafka.servers("SASL_SSL", "127.0.0.1")},
        77,
        ("another name", "127.0.0.1", "KAFKA_BOOTSTRAP_SERVERS"),
    ),
    "a broker that calls itself otherwise": Case(
        lambda here: tls(here, "ELSEWHERE"), 77, ("another name", "127.0.0.1", "advertised.listeners")
    ),
    "wrong password": Case(
        lambda _: {"KAFKA_SASL_PASSWORD": f"{PASSWORD}x"}, 77, ("does not let worker in", *SIGNS_IN)
    ),
    "wrong password in the clear": Case(
        lambda _: {"KAFKA_SASL_PASSWORD": f"{PASSWORD}x", "KAFKA_SASL_MECHANISM": "PLAIN"}, 77, ("worker", *SIGNS_IN)
    ),
    "unknown user": Case(lambda _: {"KAFKA_SASL_USERNAME": "nobody"}, 77, ("does not let nobody in", *SIGNS_IN)),
    "unknown mechanism": Case(
        lambda _: {"KAFKA_SASL_MECHANISM": "SCRAM-SHA-256"}, 78, ("KAFKA_SASL_MECHANISM=SCRAM-SHA-256",)
    ),
    "plain text to TLS": Case(lambda here: without_sasl(here, "SASL_SSL"), 78, ("speaks TLS", *SPEAKS)),
    "TLS to plain text": Case(
        lambda here: {"KAFKA_BOOTSTRAP_SERVERS": here.kafka.servers("SASL_PLAINTEXT")}, 69, ("closed", *SPEAKS)
    ),
    "no login": Case(lambda here: tls(here, "SASL_SSL"), 69, ("closed", *SPEAKS)),
    "a login where none is": Case(
        lambda here: {
            "KAFKA_BOOTSTRAP_SERVERS": here.kafka.servers("PLAINTEXT"),
            "KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
            "KAFKA_SSL_CA_FILE": None,
        },
        78,
        ("wants no login", *SPEAKS),
    ),
    "no certificate": Case(lambda here: tls(here, "SSL"), 77, ("wants one", "KAFKA_SSL_CERTIFICATE_FILE")),
    "a stranger's certificate": Case(
        lambda here: mutual(here, Authority(here.scratch / "stranger")), 77, ("does not take", "KAFKA_SSL_KEY_FILE")
    ),
    "no key's password": Case(
        lambda here: mutual(here, here.kafka.authority) | {"KAFKA_SSL_KEY_PASSWORD": None},
        78,
        ("KAFKA_SSL_KEY_PASSWORD",),
    ),
    "nobody": Case(
        lambda _: {"KAFKA_BOOTSTRAP_SERVERS": "localhost:1"}, 69, ("localhost:1", "KAFKA_BOOTSTRAP_SERVERS")
    ),
}


def changed(here: Here, case: Case) -> dict[str, str]:
    merged: dict[str, str | None] = here.kafka.environment() | case.change(here)
    return {name: value for name, value in merged.items() if value is not None}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_the_reason_is_said(case: Case, here: Here) -> None:
    """By a short command and by the worker, each in one sentence, and each tries no more often than it must."""
    given = changed(here, case)
    command = here.run(given, "topics", "check")
    worker = here.worker(given)
    assert (command.returncode, worker.wait_end(SECONDS)) == (case.code, case.code), command.stderr + worker.said()
    assert (command.stdout, command.stderr.count("\n")) == ("", 1), command.stderr
    last = worker.said().splitlines()[-1]
    for words in case.says:
        assert words in command.stderr
        assert words in last
    assert len(worker.said().splitlines()) <= 4, worker.said()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_SSL", "SASL_PLAINTEXT"])
def test_a_login(protocol: str, mechanism: str, here: Here) -> None:
    """Each mechanism, with TLS and without, the password from a file with a line's end."""
    secret = here.scratch / "password"
    secret.write_text(f"{PASSWORD}\n")
    given = here.allow("worker", ROLES["check"].needed(here.settings))
    given |= {"KAFKA_SASL_MECHANISM": mechanism, "KAFKA_SECURITY_PROTOCOL": protocol}
    given |= {"KAFKA_BOOTSTRAP_SERVERS": here.kafka.servers(protocol), "KAFKA_SASL_PASSWORD_FILE": str(secret)}
    unset = {"KAFKA_SASL_PASSWORD", *(("KAFKA_SSL_CA_FILE",) if protocol == "SASL_PLAINTEXT" else ())}
    plan = here.run({name: value for name, value in given.items() if name not in unset}, "topics", "plan")
    assert (plan.returncode, plan.stderr) == (0, "")


def test_mutual_tls(here: Here) -> None:
    """A certificate in the place of a login: the worker serves, by the permissions of the certificate's name."""
    given = {name: value for name, value in mutual(here, here.kafka.authority).items() if value is not None}
    refused = here.run(given, "topics", "check")
    assert refused.returncode == 77
    assert "kafka-acls" in refused.stderr
    principal = "User:CN=client"
    here.kafka.grant(principal, [*ROLES["apply"].needed(here.settings), *ROLES["worker"].needed(here.settings)])
    assert here.run(given, "topics", "apply").returncode == 0
    here.worker(given).wait_said("serving")


def test_permissions_that_are_taken_away(here: Here) -> None:
    """A worker that may not write any more ends with 77 and the topic; started again it says what grants it."""
    given = here.allow("worker", ROLES["worker"].needed(here.settings))
    assert here.run(here.allow("apply", ROLES["apply"].needed(here.settings)), "topics", "apply").returncode == 0
    worker = here.worker(given)
    worker.wait_said("serving")
    here.kafka.revoke("User:worker", *on_topics(here.settings, "Write", "acceptance"))
    producer = here.allow("produce", ROLES["produce"].needed(here.settings))
    assert here.run(producer, "produce", "demo/reverted.jsonl").returncode == 0
    assert worker.wait_end() == 77
    assert here.settings.topic("acceptance") in worker.said().splitlines()[-1]
    again = here.worker(given)
    assert again.wait_end(SECONDS) == 77
    assert re.search(r"--operation Write --topic \S+\.acceptance ", again.said())


@pytest.mark.parametrize("resource", ["Group", "TransactionalId"])
def test_a_permission_too_weak(resource: str, here: Here) -> None:
    """With Describe where more is needed the start sees nothing wrong; the worker ends with 77 where it is needed."""
    assert here.run(here.allow("apply", ROLES["apply"].needed(here.settings)), "topics", "apply").returncode == 0
    needed = ROLES["worker"].needed(here.settings)
    weak = [p._replace(operation="Describe") if p.resource == resource else p for p in needed]
    worker = here.worker(here.allow("worker", weak))
    assert worker.wait_end(SECONDS) == 77, worker.said()
    assert "AuthorizationFailed" in worker.said().splitlines()[-1]


def test_topics_are_made_one_permission_after_another(here: Here) -> None:
    """Without Create of some topics they are named, with what grants it; the others are made."""
    role = ROLES["apply"]
    given = here.allow("apply", [p for p in role.needed(here.settings) if p.operation != "Create"])
    missing = [p for p in role.needed(here.settings) if p.operation == "Create"]
    while missing:
        refused = here.run(given, "topics", "apply")
        assert refused.returncode == 77
        named = re.findall(r"--topic (\S+)", refused.stderr)
        assert named == sorted(p.name for p in missing)
        here.kafka.grant("User:apply", missing[:4])
        missing = missing[4:]
    assert here.run(given, "topics", "apply").returncode == 0


def test_files(here: Here, tmp_path: Path) -> None:
    """A file that holds something else is named, and so is the setting."""
    other = tmp_path / "other"
    other.write_text("nothing of the kind")
    given = here.kafka.environment() | {"KAFKA_SSL_CA_FILE": str(other)}
    said = here.run(given, "topics", "check")
    assert (said.returncode, "KAFKA_SSL_CA_FILE" in said.stderr, str(other) in said.stderr) == (78, True, True)
