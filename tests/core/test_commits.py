"""How an event about a commit finds its runs, in whatever order they come, and when it is about none."""

from itertools import permutations
from typing import Any

import pytest

from tests.core.given import SHA, Given, Played, commit_event, day, event, inside, play, raw, run, verdict

PASS = verdict("tests", "pass", id="pass")
OTHER = SHA[:12] + "0" * 28  # another commit, with the same first twelve digits
REVERT = commit_event(SHA, id="ev")


def bound(*commits: str, of: str = "run_1", **members: Any) -> Given:
    """A run that is bound to commits."""
    return run("tests", of=of, commits=commits, **members)


def artifact(kind: str | None, path: str, name: str = "art") -> Given:
    """A run with this one artifact."""
    return run("tests", top={"artifacts": [{"id": name, "path": path, "kind": {"value": kind, "tier": "verified"}}]})


def late(said: Played, run_id: str = "run_1") -> list[tuple[str, str, str]]:
    """The late events that count: id, the run's sha, how it matched."""
    return [(item["id"], item["commit"], item["match"]) for item in said.last(run_id)["late_events"]]


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_a_commit_event_reaches_its_run_before_or_after_it_is_recorded(order: tuple[int, ...]) -> None:
    """The revert of an accepted run, in any order of arrival."""
    given = [bound(SHA), PASS, REVERT]
    said = play(*(given[place] for place in order))
    assert late(said) == [("ev", SHA, "exact")]
    assert said.last()["reversed"]
    assert said.again() == []


@pytest.mark.parametrize("kind", ["commit", "merge"])
@pytest.mark.parametrize(
    ("path", "name"), [(SHA, "art"), ("main", SHA), (f" {SHA.upper()}\t", "art"), (SHA[:7], "art")]
)
def test_a_run_is_bound_to_its_commit_and_merge_artifacts(kind: str, path: str, name: str) -> None:
    """By `path` or `id`, stripped of spaces, 7–64 hex digits in any case."""
    said = play(artifact(kind, path, name), REVERT)
    assert said.answer() == ("rejected", ["missing:tests", "late:revert"])


@pytest.mark.parametrize("kind", ["code", "Commit", "repo", None])
def test_other_kinds_of_artifacts_bind_nothing(kind: str | None) -> None:
    """Whatever their path is."""
    assert late(play(artifact(kind, SHA), REVERT)) == []


@pytest.mark.parametrize("path", [SHA[:6], "0" * 40, "main", "g" + SHA, SHA + "a" * 25, f"{SHA[:20]} {SHA[20:]}"])
def test_a_path_that_is_no_sha_binds_nothing(path: str) -> None:
    """A branch, six digits, all zeros; the document is good all the same."""
    said = play(artifact("commit", path), REVERT)
    assert (said.codes(), late(said)) == ([], [])


def test_labels_and_ext_are_not_searched() -> None:
    """A sha there binds nothing."""
    assert late(play(run("tests", labels={"commit": SHA}, ext={"com.example.commit": SHA}, title=SHA), REVERT)) == []


def test_both_path_and_id_bind() -> None:
    """Each to its commit."""
    said = play(artifact("commit", "a" * 40, "b" * 40), commit_event("a" * 7, id="1"), commit_event("b" * 40, id="2"))
    assert sorted(late(said)) == [("1", "a" * 40, "prefix"), ("2", "b" * 40, "exact")]


@pytest.mark.parametrize(
    ("runs_sha", "event_sha", "how"),
    [(SHA, SHA, "exact"), (SHA, SHA[:7], "prefix"), (SHA[:7], SHA, "prefix"), (SHA[:7], SHA[:7], "exact")],
)
def test_one_sha_is_a_prefix_of_the_other(runs_sha: str, event_sha: str, how: str) -> None:
    """Whichever is the shorter; what is shown is the run's sha."""
    assert late(play(bound(runs_sha), commit_event(event_sha, id="ev"))) == [("ev", runs_sha, how)]
    assert late(play(commit_event(event_sha, id="ev"), bound(runs_sha))) == [("ev", runs_sha, how)]


def test_a_sha_that_only_begins_alike_is_another() -> None:
    """No prefix, no match, and nothing is said."""
    said = play(bound(SHA), commit_event(OTHER))
    assert (late(said), said.last()["violations"], said.last()["version"]) == ([], [], 1)


def test_exact_is_shown_before_prefix() -> None:
    """Of a run that writes its commit in two ways."""
    assert late(play(bound(SHA[:8], SHA), REVERT)) == [("ev", SHA, "exact")]
    assert late(play(bound(SHA[:8], SHA), commit_event(SHA[:20], id="ev"))) == [("ev", SHA[:8], "prefix")]


def test_an_event_goes_to_every_run_it_matches() -> None:
    """Several runs may have made one commit."""
    said = play(bound(SHA), bound(SHA, of="run_2"), bound(SHA[:9], of="run_3"), bound("c" * 40, of="run_4"), REVERT)
    assert [len(late(said, run_id)) for run_id in ("run_1", "run_2", "run_3", "run_4")] == [1, 1, 1, 0]
    assert said.last("run_4")["version"] == 1


def test_the_key_is_stripped_of_spaces_and_lower_cased() -> None:
    """So that every writing of a sha is one."""
    assert late(play(bound(SHA), commit_event(f"  {SHA.upper()} \n", id="ev"))) == [("ev", SHA, "exact")]


def test_an_event_that_repeats_is_applied_and_changes_nothing() -> None:
    """The same signal on the same commit; `version` goes on."""
    said = play(bound(SHA), PASS, REVERT, REVERT)
    assert (said.last()["version"], said.transitions()) == (4, ["accepted", "reversed"])
    assert late(said) == [("ev", SHA, "exact")]


# --- ambiguity -------------------------------------------------------------------------------------

SHORT = commit_event(SHA[:8], id="short")


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_a_short_sha_that_fits_two_different_commits_identifies_neither(order: tuple[int, ...]) -> None:
    """The event does not count, and each run it might have meant says so; in any order."""
    given = [bound(SHA), bound(OTHER, of="run_2"), SHORT, PASS]
    said = play(*(given[place] for place in order))
    for run_id in ("run_1", "run_2"):
        assert late(said, run_id) == []
        assert said.last(run_id)["violations"] == ["ambiguous_commit:short"]
    assert said.answer() == ("accepted", [])


def test_shas_known_from_events_make_a_short_one_ambiguous() -> None:
    """Of all shas known, from newest documents and kept commit events."""
    said = play(bound(SHA), SHORT, PASS)
    assert said.transitions() == ["rejected", "reversed"]
    said.then(commit_event(OTHER, id="other"))
    assert (said.answer(), said.transitions()[-1]) == (("accepted", []), "reinstated")
    assert said.last()["violations"] == ["ambiguous_commit:short"]
    assert said.last()["cause"]["signal"] == "short"


def test_writings_of_one_commit_are_not_ambiguous() -> None:
    """Each a prefix of the next, however many."""
    writings = [commit_event(SHA[:length], id=str(length)) for length in (7, 40, 12, 9)]
    said = play(bound(SHA[:20]), bound(SHA, of="run_2"), *writings)
    assert [item[0] for item in late(said)] == ["12", "40", "7", "9"]
    assert said.last()["violations"] == []


def test_a_full_sha_is_not_made_ambiguous_by_its_short_one() -> None:
    """Only those that begin with the shorter of the pair must be of one commit: here the pair is exact."""
    said = play(bound(SHA), bound(OTHER, of="run_2"), SHORT, REVERT)
    assert late(said) == [("ev", SHA, "exact")]
    assert late(said, "run_2") == []


def test_a_run_s_short_sha_is_ambiguous_as_an_event_s_is() -> None:
    """The run says which event it might have been."""
    said = play(bound(SHA[:8]), REVERT, commit_event(OTHER, id="other"))
    assert late(said) == []
    assert said.last()["violations"] == ["ambiguous_commit:ev", "ambiguous_commit:other"]


def test_an_ambiguous_event_becomes_clear_when_the_other_commit_is_gone() -> None:
    """As an input of its own after the document, whose cause is the commit event."""
    said = play(bound(SHA), bound(OTHER, of="run_2"), PASS, SHORT)
    assert said.transitions() == ["accepted"]
    said.then(bound("c" * 40, of="run_2"))
    change = said.changes()[-1]
    assert (change["transition"], change["cause"]["topic"], change["cause"]["signal"]["id"]) == (
        "reversed",
        "commit-events",
        "short",
    )
    assert (late(said), said.last()["violations"]) == ([("short", SHA, "prefix")], [])


# --- inputs of their own ---------------------------------------------------------------------------


def test_a_document_is_applied_first_and_each_event_it_newly_matches_after_it() -> None:
    """In offset order, each with its own acceptance, change and cause."""
    given = [commit_event(SHA, "incident", id="1"), PASS, commit_event("b" * 40, id="0"), commit_event(SHA[:7], id="2")]
    said = play(*given, bound(SHA, "b" * 40))
    causes = [
        (value["cause"]["topic"], value["cause"]["offset"], value["version"]) for value in said.values("acceptance")
    ]
    assert causes[1:] == [("runs", 0, 2), ("commit-events", 0, 3), ("commit-events", 1, 4), ("commit-events", 2, 5)]
    assert said.transitions() == ["accepted", "reversed"]
    assert said.changes()[-1]["id"] == "run_1/2/commit-events-0-0"
    assert said.changes()[-1]["cause"]["kind"] == "signal"


def test_the_same_document_again_matches_nothing_anew() -> None:
    """One acceptance for it, and none for the events it has had."""
    said = play(bound(SHA), REVERT, bound(SHA))
    assert [value["cause"]["topic"] for value in said.values("acceptance")] == ["runs", "commit-events", "runs"]
    assert late(said) == [("ev", SHA, "exact")]


def test_an_event_counts_while_the_newest_document_names_its_commit() -> None:
    """And counts again when a later one does."""
    said = play(bound(SHA), PASS, REVERT, bound("c" * 40), bound(SHA))
    assert said.transitions() == ["accepted", "reversed", "reinstated", "reversed"]


def test_an_event_that_also_came_in_signals_counts_anyway() -> None:
    """The same signal; it is shown without a commit, for it needs none."""
    direct = event("revert", id="ev")
    said = play(bound(SHA), PASS, REVERT, direct)
    assert late(said) == [("ev", None, None)]
    assert said.then(bound()).last()["reversed"]
    assert said.alerts() == [True]
    embedded = play(bound(SHA, signals=inside(direct)), REVERT)
    assert (late(embedded), embedded.last()["violations"]) == ([("ev", None, None)], [])


def test_a_name_that_is_not_excluded_is_kept_and_does_not_reject() -> None:
    """A hotfix is about the commit too; a newer document's rule may ask for it."""
    said = play(bound(SHA), PASS, commit_event(SHA, "hotfix"), commit_event(SHA, at=day(20)))
    assert (said.answer(), said.last()["version"]) == (("accepted", []), 4)


def test_one_event_on_two_commits_of_a_run_counts_once() -> None:
    """It is one signal, whichever of its commits it came by."""
    said = play(bound(SHA, "c" * 40), commit_event("c" * 40, id="ev"), REVERT)
    assert (late(said), said.last()["violations"]) == ([("ev", SHA, "exact")], [])


def test_a_commit_event_without_a_run_says_nothing() -> None:
    """It is kept."""
    said = play(REVERT, raw("commit-events", SHA, inside(event("incident"))[0]))
    assert said.outputs == []
