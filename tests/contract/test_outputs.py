"""Every output record of generated files has its topic's shape: no member that is not published, none left out."""

import json
from typing import Any

import pytest

from processor.replay import replay
from tests.contract.test_examples import schema_of
from tests.oracle.generate import records
from topics import TOPICS
from topics.acceptance import Acceptance, CountedEvent
from topics.acceptance_changed import AcceptanceChanged
from topics.acceptance_dead_letters import RECORD as ADDED
from topics.acceptance_dead_letters import AddedHeaders

SEEDS = 50
OUTPUTS = ("acceptance", "acceptance-changed", "acceptance-reversed")
SCHEMAS = {topic: schema_of(topic) for topic in (*OUTPUTS, "acceptance-dead-letters")}
NAMES = {field.alias or name for name, field in AddedHeaders.model_fields.items()}


def members(model: Any) -> set[str]:
    """What the model publishes always."""
    return {field.alias or name for name, field in model.model_fields.items() if field.is_required()}


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_output_has_its_topic_s_shape(seed: int) -> None:
    """The model reads it and the schema takes it; its members are the model's, no more and no fewer."""
    for line in replay(json.dumps(record).encode() for record in records(seed, 60)):
        output = json.loads(line)
        topic, headers = output["topic"], output["headers"]
        if topic == "acceptance-dead-letters":
            added = {name: text for name, text in headers if name in NAMES}
            ADDED.validate_json(json.dumps(added))
            assert list(SCHEMAS[topic].iter_errors(added)) == []
            continue
        value = output["value"]
        TOPICS[topic].RECORD.validate_json(json.dumps(value))
        assert list(SCHEMAS[topic].iter_errors(value)) == []
        if value is not None:
            assert set(value) == members(Acceptance if topic == "acceptance" else AcceptanceChanged)
            assert all(set(event) == members(CountedEvent) for event in value["late_events"])


def test_an_added_header_may_not_be_left_out() -> None:
    """All but the path are required, whoever writes them."""
    required = {field.alias or name for name, field in AddedHeaders.model_fields.items() if field.is_required()}
    assert NAMES - required == {"ocp.errors.path"}
    assert set(SCHEMAS["acceptance-dead-letters"].schema["required"]) == required


def test_readers_ignore_fields_they_do_not_know() -> None:
    """A member that is added later breaks no reader."""
    for line in replay(json.dumps(record).encode() for record in records(3, 60)):
        output = json.loads(line)
        if output["topic"] in OUTPUTS and output["value"] is not None:
            value = {**output["value"], "added_later": {"a": 1}}
            TOPICS[output["topic"]].RECORD.validate_json(json.dumps(value))
            assert list(SCHEMAS[output["topic"]].iter_errors(value)) == []
