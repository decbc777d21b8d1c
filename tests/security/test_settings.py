"""Settings of connections that do not go together are refused at start (78), each with one sentence; none is shown."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from processor import cli
from processor.config import refusals
from processor.settings import OURS, Settings
from tests.broker import REPOSITORY
from tests.security.broker import PASSWORD
from tests.security.certificates import Authority

LOGIN = {
    "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    "KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
    "KAFKA_SASL_USERNAME": "worker",
    "KAFKA_SASL_PASSWORD": PASSWORD,
}
TLS = {"KAFKA_SECURITY_PROTOCOL": "SSL"}
HERE = __file__


def without(name: str) -> dict[str, str]:
    return {other: value for other, value in LOGIN.items() if other != name}


REFUSED: Mapping[str, tuple[dict[str, str], tuple[str, ...]]] = {
    "no mechanism": (without("KAFKA_SASL_MECHANISM"), ("KAFKA_SECURITY_PROTOCOL=SASL_SSL", "KAFKA_SASL_MECHANISM")),
    "no user": (without("KAFKA_SASL_USERNAME"), ("KAFKA_SECURITY_PROTOCOL=SASL_SSL", "KAFKA_SASL_USERNAME")),
    "no password": (without("KAFKA_SASL_PASSWORD"), ("KAFKA_SASL_PASSWORD", "KAFKA_SASL_PASSWORD_FILE")),
    "a login in plain text": (without("KAFKA_SECURITY_PROTOCOL"), ("KAFKA_SECURITY_PROTOCOL=PLAINTEXT", "SASL_SSL")),
    "a login with SSL": (LOGIN | TLS, ("KAFKA_SECURITY_PROTOCOL=SSL", "KAFKA_SASL_USERNAME", "SASL_SSL")),
    "two passwords": (LOGIN | {"KAFKA_SASL_PASSWORD_FILE": HERE}, ("KAFKA_SASL_PASSWORD and", "unset one")),
    "certificate alone": (TLS | {"KAFKA_SSL_CERTIFICATE_FILE": HERE}, ("KAFKA_SSL_KEY_FILE is not", "set both")),
    "key alone": (TLS | {"KAFKA_SSL_KEY_FILE": HERE}, ("KAFKA_SSL_CERTIFICATE_FILE is not", "set both")),
    "password alone": (TLS | {"KAFKA_SSL_KEY_PASSWORD": PASSWORD}, ("KAFKA_SSL_KEY_FILE is not",)),
    "two key passwords": (
        TLS
        | dict.fromkeys(("KAFKA_SSL_CERTIFICATE_FILE", "KAFKA_SSL_KEY_FILE", "KAFKA_SSL_KEY_PASSWORD_FILE"), HERE)
        | {"KAFKA_SSL_KEY_PASSWORD": PASSWORD},
        ("KAFKA_SSL_KEY_PASSWORD_FILE", "unset one"),
    ),
    "no such file": (TLS | {"KAFKA_SSL_CA_FILE": "/none"}, ("KAFKA_SSL_CA_FILE='/none'", "No such file")),
    "a directory": (LOGIN | {"KAFKA_SASL_PASSWORD_FILE": "/"}, ("KAFKA_SASL_PASSWORD_FILE='/'", "Is a directory")),
    "TLS files without TLS": ({"KAFKA_SSL_CA_FILE": HERE}, ("KAFKA_SECURITY_PROTOCOL=PLAINTEXT", "KAFKA_SSL_CA_FILE")),
    "no such protocol": ({"KAFKA_SECURITY_PROTOCOL": "TLS"}, ("KAFKA_SECURITY_PROTOCOL='TLS'", "SASL_SSL")),
    "no such mechanism": (LOGIN | {"KAFKA_SASL_MECHANISM": "GSSAPI"}, ("KAFKA_SASL_MECHANISM='GSSAPI'",)),
    "nearly ours": (LOGIN | {"KAFKA_SASL_USER": "worker"}, ("KAFKA_SASL_USER", "README")),
    "no way around host names": (TLS | {"KAFKA_SSL_CHECK_HOSTNAME": "0"}, ("KAFKA_SSL_CHECK_HOSTNAME", "README")),
    "in lower case": ({"kafka_ssl_cafile": HERE}, ("kafka_ssl_cafile", "README")),
    "a name with an escape": (LOGIN | {"KAFKA_SASL_USERNAME": "a\x1bb"}, ("KAFKA_SASL_USERNAME=", "\\x1b")),
    "something else is wrong": (LOGIN | {"TOPIC_PARTITIONS": "none"}, ("TOPIC_PARTITIONS='none'",)),
    "a password that is no text": (LOGIN | {"KAFKA_SASL_PASSWORD": f"{PASSWORD}\udcff"}, ("KAFKA_SASL_PASSWORD",)),
}


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of this process's settings."""
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def said(given: Mapping[str, str], *args: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.items():
            patch.setenv(name, value)
        return cli.main(args)


@pytest.mark.parametrize("given", REFUSED.values(), ids=REFUSED.keys())
def test_a_contradiction(given: tuple[dict[str, str], tuple[str, ...]], capsys: pytest.CaptureFixture[str]) -> None:
    """By any command, before it connects."""
    variables, words = given
    assert said(variables, "topics", "check") == 78
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1), err
    assert PASSWORD not in err
    for word in words:
        assert word in err


def test_other_variables_are_let_be(capsys: pytest.CaptureFixture[str]) -> None:
    """What begins with KAFKA_ may be another program's."""
    assert said({"KAFKA_HOME": "/opt/kafka", "KAFKA_OPTS": "-Dx", "SSL_CERT_FILE": HERE}, "config") == 0
    assert "KAFKA_HOME" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["KAFKA_SSL_CA_FILE", "KAFKA_SSL_CERTIFICATE_FILE", "KAFKA_SSL_KEY_PASSWORD"])
def test_a_file_that_holds_something_else(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No certificate, or a key's wrong password: the setting is named, and nobody is asked on a terminal."""
    authority = Authority(tmp_path / "authority")
    certificate, key = authority.give("client", password=PASSWORD)
    given = TLS | {"KAFKA_SSL_CA_FILE": str(authority.certificate), "KAFKA_SSL_CERTIFICATE_FILE": str(certificate)}
    given |= {"KAFKA_SSL_KEY_FILE": str(key), "KAFKA_SSL_KEY_PASSWORD": PASSWORD}
    assert said(given | {name: f"{PASSWORD}x" if name.endswith("PASSWORD") else HERE}, "topics", "check") == 78
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), name in err, PASSWORD in err) == ("", 1, True, False)


@pytest.mark.parametrize("text", ["", "\n", "two\nlines", "\x00"])
def test_a_password_file_that_holds_no_password(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said of the file; what is in it is not."""
    secret = tmp_path / "secret"
    secret.write_text(text)
    assert said(without("KAFKA_SASL_PASSWORD") | {"KAFKA_SASL_PASSWORD_FILE": str(secret)}, "topics", "check") == 78
    assert "KAFKA_SASL_PASSWORD_FILE" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["kafka_sasl_password", "kafka_ssl_key_password"])
def test_a_secret_is_not_quoted(name: str) -> None:
    """Where a value cannot be taken the sentence has it, but not a secret's."""
    with pytest.raises(ValidationError) as error:
        Settings(**{name: [PASSWORD]})  # type: ignore[arg-type]
    [sentence] = refusals(error.value)
    assert sentence.startswith(f"{name.upper()}=***: ")
    assert PASSWORD not in sentence


def test_config(capsys: pytest.CaptureFixture[str]) -> None:
    """Every setting in force, as text and as JSON; secrets are masked, and only those that are set."""
    assert said(LOGIN | {"TOPIC_PARTITIONS": "8"}, "config") == 0
    lines = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert lines.keys() == {name.upper() for name in Settings.model_fields}
    assert lines["KAFKA_SASL_PASSWORD"] == "***"
    assert lines["KAFKA_SSL_KEY_PASSWORD"] == ""
    assert (lines["TOPIC_PARTITIONS"], lines["KAFKA_SECURITY_PROTOCOL"]) == ("8", "SASL_SSL")
    assert said(LOGIN | {"TOPIC_PARTITIONS": "8"}, "config", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == lines.keys()
    assert (found["KAFKA_SASL_PASSWORD"], found["KAFKA_SSL_KEY_PASSWORD"]) == ("***", None)
    assert (found["TOPIC_PARTITIONS"], found["STOP_ON_BAD_INPUT"], found["TOPIC_RUNS"]) == (8, False, None)


def test_the_documented_example() -> None:
    """docs/security.md exports settings that there are, and shows commands that are understood."""
    text = (REPOSITORY / "docs" / "security.md").read_text(encoding="utf-8")
    exported = set(re.findall(r"^export (\w+)=", text, re.MULTILINE))
    assert len(exported) == 6
    named = {name for name in re.findall(r"\bKAFKA_\w+", text) if name not in OURS}
    assert exported <= named <= {name.upper() for name in Settings.model_fields}
    commands = re.findall(r"^acceptance ([^#\n]+)", text, re.MULTILINE)
    assert [cli.parser().parse_args(command.split()).command for command in commands] == ["config", "topics"]
