"""Every example under `topics/` is read by the model, the schema and the product; its name says what they make of it.

A `.json`, `.txt` or `.bin` file is a record's value, byte for byte; a `.jsonl` file is one line as `replay` reads it,
for examples in which the key matters. An input's bad example begins with the code of its dead letter.
"""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from processor.lines import decode_line
from processor.record import ACCEPTANCE, COMMIT_EVENTS, RUNS, SIGNALS
from tests.contract.scenarios import examples
from tests.core.given import RUN, SHA, Given, Played, play, raw
from topics import TOPICS
from topics.__main__ import main
from topics.acceptance_dead_letters import Code

INPUTS = (RUNS, SIGNALS, COMMIT_EVENTS)
DIRECTORIES = {topic: Path(str(module.__file__)).parent for topic, module in TOPICS.items()}
KEYS = {RUNS: RUN, SIGNALS: RUN, COMMIT_EVENTS: SHA}
SUFFIXES = {".json", ".jsonl", ".txt", ".bin"}
CODES: tuple[str, ...] = get_args(Code)
LIMITS = {"too_large", "run_full", "run_expired"}  # by small limits or much time: in tests/contract/scenarios.py


def found(kind: str, *, inputs: bool) -> list[Any]:
    """The examples of a kind: topic and file."""
    return [
        pytest.param(topic, path, id=f"{topic}/{path.name}")
        for topic, directory in DIRECTORIES.items()
        if (topic in INPUTS) == inputs
        for path in sorted((directory / kind).iterdir())
    ]


def record(topic: str, path: Path) -> Given:
    """The example as a record."""
    if path.suffix != ".jsonl":
        return raw(topic, KEYS[topic], path.read_bytes())
    line = decode_line(path.read_bytes(), 1)
    assert line.topic == topic
    return Given(topic, line.key, line.value, line.timestamp, line.headers)


def played(given: Given) -> Played:
    """What the product says to it; a commit event is told to a run that names its commit."""
    return play(raw(RUNS, RUN, {"ocp": "0.3", "run": {"id": RUN}, "artifacts": [ARTIFACT]}), given)


ARTIFACT = {"id": "c", "path": SHA, "kind": {"value": "commit"}}


def schema_of(topic: str) -> Draft202012Validator:
    """The topic's published JSON Schema."""
    return Draft202012Validator(json.loads((DIRECTORIES[topic] / "schema.json").read_text(encoding="utf-8")))


def model_takes(topic: str, value: Any) -> bool:
    """Whether the topic's model reads the value."""
    try:
        TOPICS[topic].RECORD.validate_python(value)
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(("topic", "path"), found("valid", inputs=True))
def test_a_valid_input_is_applied(topic: str, path: Path) -> None:
    """The model, the schema and the product take it; an acceptance follows and no dead letter."""
    given = record(topic, path)
    if given.value is not None:
        value = json.loads(given.value)
        assert model_takes(topic, value)
        assert list(schema_of(topic).iter_errors(value)) == []
    said = played(given)
    assert said.codes() == []
    assert len(said.values(ACCEPTANCE)) == 2


@pytest.mark.parametrize(("topic", "path"), found("invalid", inputs=True))
def test_an_invalid_input_is_refused_with_the_code_that_begins_its_name(topic: str, path: Path) -> None:
    """One dead letter, as received; the model refuses what breaks OCP, the rest is found before or after it."""
    given, code = record(topic, path), path.name.partition("-")[0]
    (letter,) = played(given).letters()
    assert letter.code == code
    if "embedded" in path.name:
        refused_alone(given, letter.value, letter.headers["ocp.errors.path"])
        return
    assert (letter.key, letter.value) == (given.key, given.value)
    assert "ocp.errors.path" not in letter.headers
    if code in ("schema", "E195"):
        value = json.loads(given.value or b"")
        assert not model_takes(topic, value)
        if "fraction" not in path.name:  # JSON Schema cannot look from one member at another in so few words
            assert list(schema_of(topic).iter_errors(value)) != []
    elif code in ("bad_key", "bad_commit", "key_mismatch"):
        assert given.value is None or model_takes(topic, json.loads(given.value))


def refused_alone(given: Given, signal: bytes | None, path: str) -> None:
    """The document is applied, its bad signal alone is refused, and would be on `signals` too."""
    document = json.loads(given.value or b"")
    assert model_takes(RUNS, document)
    index = int(path.removeprefix("run.signals[").removesuffix("]"))
    assert json.loads(signal or b"") == document["run"]["signals"][index]
    assert played(given).last()["version"] == 2
    assert len(played(raw(SIGNALS, RUN, signal)).codes()) == 1


@pytest.mark.parametrize(("topic", "path"), found("valid", inputs=False))
def test_a_valid_output_has_the_model_s_and_the_schema_s_shape(topic: str, path: Path) -> None:
    """Real outputs: the model reads them, the schema takes them."""
    value = json.loads(path.read_bytes())
    TOPICS[topic].RECORD.validate_json(path.read_bytes())
    assert list(schema_of(topic).iter_errors(value)) == []


@pytest.mark.parametrize(("topic", "path"), found("invalid", inputs=False))
def test_an_invalid_output_is_refused(topic: str, path: Path) -> None:
    """By the model and by the schema."""
    value = json.loads(path.read_bytes())
    with pytest.raises(ValidationError):
        TOPICS[topic].RECORD.validate_json(path.read_bytes())
    assert list(schema_of(topic).iter_errors(value)) != []


def test_output_examples_are_what_the_product_says() -> None:
    """Each is committed as its scenario ends; `python -m tests.contract.scenarios` writes them anew."""
    made = dict(examples())
    outputs = [path for topic in TOPICS if topic not in INPUTS for path in (DIRECTORIES[topic] / "valid").iterdir()]
    assert sorted(made) == sorted(outputs)
    for path, text in made.items():
        assert without_message(text) == without_message(path.read_text(encoding="utf-8")), path.name


def without_message(text: str) -> str:
    """A dead letter's message is in pydantic's or orjson's words, and they may find better ones."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith('  "__streams.errors.message": "'))


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_examples_and_no_other_files(topic: str) -> None:
    """A good and a bad one at least; a file of another kind would be read by nobody."""
    assert {path.name for path in DIRECTORIES[topic].iterdir()} - {"__pycache__"} == {
        "__init__.py",
        "schema.json",
        "valid",
        "invalid",
    }
    for kind in ("valid", "invalid"):
        files = list((DIRECTORIES[topic] / kind).iterdir())
        assert files
        assert {path.suffix for path in files} <= (SUFFIXES if topic in INPUTS else {".json"})


def test_every_code_has_an_example() -> None:
    """Among the inputs, but for those that only a limit makes; among the dead letters all."""
    bad = {p.name.partition("-")[0] for topic in INPUTS for p in (DIRECTORIES[topic] / "invalid").iterdir()}
    assert bad == set(CODES) - LIMITS
    shown = {path.stem for path in (DIRECTORIES["acceptance-dead-letters"] / "valid").iterdir()}
    assert {name.partition("-")[0] for name in shown} == set(CODES)


def test_the_schemas_are_current() -> None:
    """`python -m topics` would write the same."""
    assert main(check=True) == 0
