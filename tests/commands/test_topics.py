"""`acceptance topics`: what is missing, what differs, and that nothing is altered."""

import asyncio
import json

import pytest

from processor import topics_admin
from processor.settings import Settings
from processor.topics_admin import Found, compare, plan
from tests.commands.cli import acceptance

SETTINGS = Settings(application_id="app", topic_prefix="p-", topic_partitions=4)


def as_planned(**partitions: int) -> dict[str, Found]:
    """A broker on which every topic is as it should be, but for these partition counts."""
    return {
        topic.name: Found(partitions.get(topic.name, topic.partitions), topic.replicas, topic.config)
        for topic in plan(SETTINGS)
    }


def test_all_eleven_topics_are_planned_under_their_names() -> None:
    """Public topics have the prefix, internal ones the application's id."""
    assert [topic.name for topic in plan(SETTINGS)] == [
        "p-runs",
        "p-signals",
        "p-commit-events",
        "p-acceptance",
        "p-acceptance-changed",
        "p-acceptance-reversed",
        "p-acceptance-dead-letters",
        "app-run-inputs",
        "app-runs-changelog",
        "app-commit-index",
        "app-commits-changelog",
    ]


@pytest.mark.parametrize("topic", ["p-runs", "p-acceptance", "app-runs-changelog", "app-commits-changelog"])
def test_state_is_compacted(topic: str) -> None:
    """What must outlive every retention is compacted, and nothing else is."""
    assert {t.name: t.config["cleanup.policy"] for t in plan(SETTINGS)}[topic] == "compact"


def test_dead_letters_are_kept_from_when_they_were_written() -> None:
    """A record that was old when it failed is not thrown away at once."""
    config = {t.name: t.config for t in plan(SETTINGS)}["p-acceptance-dead-letters"]
    assert config["message.timestamp.type"] == "LogAppendTime"
    assert config["retention.ms"] == str(30 * 24 * 3600 * 1000)


def test_three_replicas_are_not_acknowledged_by_one() -> None:
    """With replication, a write is safe only when two have it."""
    replicated = plan(Settings(topic_replication_factor=3))
    assert {t.config["min.insync.replicas"] for t in replicated} == {"2"}


def test_a_broker_as_planned_has_no_difference() -> None:
    """Nothing is said of what is right."""
    assert not [f for f in compare(plan(SETTINGS), as_planned()) if f.differences or not f.exists]


def test_another_partition_count_is_fine_for_a_whole_group() -> None:
    """The counts of a group must be equal, to each other and to nothing else."""
    found = {name: Found(9, topic.replicas, topic.config) for name, topic in as_planned().items()}
    assert not [f for f in compare(plan(SETTINGS), found) if f.differences]


def test_one_count_in_a_group_that_is_not_the_others_is_a_difference() -> None:
    """It says which topic it was compared with."""
    findings = {f.plan.name: f.differences for f in compare(plan(SETTINGS), as_planned(**{"app-run-inputs": 3}))}
    assert findings.pop("app-run-inputs") == ["partitions: 3, but p-runs has 4"]
    assert not any(findings.values())


def test_a_missing_topic_gets_its_groups_count() -> None:
    """Else `apply` would make what `check` then complains of."""
    found = {name: Found(9, topic.replicas, topic.config) for name, topic in as_planned().items()}
    del found["p-signals"]
    missing = [f.plan for f in compare(plan(SETTINGS), found) if not f.exists]
    assert [(topic.name, topic.partitions) for topic in missing] == [("p-signals", 9)]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("retention.ms", "-1", []),
        ("retention.ms", "9999999999", []),
        ("retention.ms", "1000", ["retention.ms: 1000, should be 2592000000 or more"]),
        ("cleanup.policy", "compact", ["cleanup.policy: compact, should be delete"]),
        ("cleanup.policy", "compact,delete", ["cleanup.policy: compact,delete, should be delete"]),
        ("max.message.bytes", "1048588", ["max.message.bytes: 1048588, should be 2097152 or more"]),
    ],
)
def test_more_is_no_difference_less_is(name: str, value: str, said: list[str]) -> None:
    """Whoever keeps more, or for ever, does no harm; a compacted `signals` would lose signals."""
    found = as_planned()
    found["p-signals"] = Found(4, 1, {**found["p-signals"].config, name: value})
    assert {f.plan.name: f.differences for f in compare(plan(SETTINGS), found)}["p-signals"] == said


def test_a_broker_that_tells_no_settings_is_compared_by_counts() -> None:
    """What is not told is no difference."""
    found = {name: Found(topic.partitions, topic.replicas, {}) for name, topic in as_planned().items()}
    assert not [f for f in compare(plan(SETTINGS), found) if f.differences]


def test_apply_makes_what_check_asks_for(settings: Settings) -> None:
    """Missing: 1. After `apply`, which may be said twice: 0."""
    assert acceptance(settings, "topics", "check").returncode == 1
    assert acceptance(settings, "topics", "plan").returncode == 0
    assert "created" in acceptance(settings, "topics", "apply").stdout
    again = acceptance(settings, "topics", "apply", "--json")
    assert {topic["status"] for topic in json.loads(again.stdout)} == {"ok"}
    assert acceptance(settings, "topics", "check").returncode == 0


def test_a_real_kafka_takes_the_topics_as_planned(kafka: str, settings: Settings) -> None:
    """Every setting has the name and the form that Kafka wants, and is there afterwards."""
    on_kafka = settings.model_copy(update={"kafka_bootstrap_servers": kafka})
    asyncio.run(topics_admin.apply(on_kafka))
    findings = asyncio.run(topics_admin.check(on_kafka))
    assert all(f.exists and not f.differences for f in findings)
    assert all(f.found and f.found.config.items() >= f.plan.config.items() for f in findings)


def test_no_broker_is_said_in_a_sentence() -> None:
    """69, the address, and the setting to look at."""
    nowhere = acceptance(Settings(kafka_bootstrap_servers="127.0.0.1:1"), "topics", "check")
    assert nowhere.returncode == 69
    assert nowhere.stderr.count("\n") == 1
    assert "127.0.0.1:1" in nowhere.stderr
    assert "KAFKA_BOOTSTRAP_SERVERS" in nowhere.stderr
