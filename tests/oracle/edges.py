"""The values that generated files are made of: good ones at the edges, and wrong ones for every field."""

from __future__ import annotations

import base64
from typing import Any

Table = tuple[tuple[str, tuple[Any, ...]], ...]

VERDICTS = ("pass", "pass", "pass", "accept", "fail", "reject", "error")
TIERS = ("verified", "reported", "heuristic", "asserted")
MOMENTS = (
    "2026-03-01T11:00:00Z",
    "2026-03-01T11:00:00.000000001Z",
    "2026-03-01T11:00:00.0000000019Z",
    "2026-03-01T12:00:00+01:00",
    "2026-03-01T11:00:00.5Z",
    "2026-03-01T11:00:00.500Z",
    "2026-03-01T10:59:59.999999999Z",
    "2026-03-01T12:00:00Z",
    "2026-03-01T12:30:00-00:00",
    "2026-03-02T00:00:00Z",
    "2026-03-15T12:00:00Z",
    "2026-03-15T12:00:00.000000001Z",
    "2026-03-15T12:00:00.0000000009Z",
    "2026-03-15T14:00:00+02:00",
    "2026-03-16T00:00:00Z",
    "2026-03-20T09:15:27.125Z",
)
ODD_MOMENTS = (
    "2016-12-31T23:59:60Z",
    "2016-12-31T23:59:60.25Z",
    "2017-01-01T00:00:00Z",
    "2017-01-01T05:29:60+05:30",
    "2016-12-31T15:59:60-08:00",
    "0001-01-01T00:00:00+14:00",
    "0001-01-01T00:00:00Z",
    "0001-01-01T23:58:59.5+23:59",
    "9999-12-31T23:59:59-23:59",
    "9999-12-31T23:59:60Z",
    "9999-12-31T23:59:59.999999999Z",
    "1969-12-31T23:59:59.999999999Z",
    "1677-09-21T00:12:43Z",
    "2262-04-12T00:00:00Z",
    "2024-02-29T12:00:00+00:01",
)
BAD_MOMENTS = (
    "",
    "2026-03-01T11:00:00",
    "2026-03-01 11:00:00Z",
    "2026-03-01T11:00:00z",
    "2026-03-01T11:00:00Z\n",
    "2026-03-01T11:00:00.Z",
    "2026-03-01T24:00:00Z",
    "2026-03-01T11:60:00Z",
    "2026-03-01T11:00:60Z",
    "2016-12-31T23:59:60+01:00",
    "2016-12-31T23:59:61Z",
    "2026-02-29T11:00:00Z",
    "2026-13-01T11:00:00Z",
    "2026-00-01T11:00:00Z",
    "0000-01-01T00:00:00Z",
    "2026-03-01T11:00:00+24:00",
    "2026-03-01T11:00:00+01:60",
    "2026-03-01T11:00:00+0100",
    "\u0662\u0660\u0662\u0666-03-01T11:00:00Z",
    "2026-03-01T11:00:00,5Z",
    "+2026-03-01T11:00:00Z",
)
NUMBERS = (0, 1, 0.5, 1.0, 100, 99.5, -3, 2400, 0.25)
LITERALS = (
    "9007199254740993",
    "9007199254740992.0",
    "9007199254740992",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "1e308",
    "-1.7976931348623157e308",
    "1E+2",
    "100.0",
    "-0",
    "-0.0",
    "5e-324",
    "1e-400",
    "0.1",
    "0.1000000000000000055511151231257827",
    "123456789012345678901234567890",
)
WINDOWS = (0, 1, 14, 14.0, 15, 36500, 2912000, 10**10, 2**63, 1e30, 1e300)
BAD_JSON = (
    b"",
    b" ",
    b"{",
    b"{]",
    b'{"id":"s1",}',
    b"\xef\xbb\xbf{}",
    b'{"ext":NaN}',
    b'{"ext":[Infinity]}',
    b'{"ext":-Infinity}',
    b'{"ext":1e999}',
    b'{"ext":-1e309}',
    b'{"ext":' + b"9" * 400 + b"}",
    b'{"ext":"\\ud83d"}',
    b'{"\\udc00":1}',
    b'{"ext":["\\udc00\\ud83d"]}',
    b'{"ext":"\\ud800","ext":1}',
    b'{"ext":"\n"}',
    b'{"ext":01}',
    b'{"ext":+1}',
    b'{"ext":.5}',
    b'{"ext":1.}',
    b'{"ext":"\\x41"}',
    b"{} {}",
    b"{'id':1}",
    b"nul",
    b"\x00\x01not json",
)
BAD_KEYS: tuple[dict[str, Any], ...] = (
    {"key": None},
    {"key": ""},
    {"key_base64": base64.b64encode(b"run_\xff").decode()},
    {"key_base64": base64.b64encode(b"\xed\xa0\x80").decode()},
    {"key": "k" * 201},
    {"key": "\U0001f600" * 201},
    {"key_base64": ""},
)
BAD_COMMITS = (
    "main",
    "abc123",
    "0" * 7,
    "0" * 40,
    "a" * 65,
    "g123456",
    "   ",
    "abc 1234",
    "١٢٣٤٥٦٧",
    "0xabc1234",
    "-abc1234",
)

# For each field the values that are wrong there (some are right for another kind or scale).

SIGNAL_DAMAGE: Table = (
    ("id", (None, "", 5, "i" * 201, True)),
    ("kind", (None, "Verdict", 5, [], "outcome")),
    ("name", (None, 5, "n" * 201)),
    ("value", (True, [], {}, "v" * 501, "PASS", "Pass", 5, None, "", 1.5, -0.25)),
    ("unit", (5, "u" * 101)),
    ("better", ("more", 5, True)),
    ("target", ("5", True, [])),
    ("scale", ("fraction", "cubic", 5)),
    ("at_attempt", (5, "a" * 201, {})),
    (
        "source",
        (
            "ci",
            [],
            {},
            {"kind": None},
            {"kind": 5},
            {"kind": "k" * 101},
            {"kind": "ci", "ref": 5},
            {"kind": "ci", "ref": "r" * 501},
        ),
    ),
    ("tier", (None, "Verified", "certain", 5)),
    ("observed_at", (None, 5, *BAD_MOMENTS)),
    ("observed_at", BAD_MOMENTS),
)
RUN_DAMAGE: Table = (
    ("id", (None, "", 5, "i" * 201, "another run", True)),
    ("title", (5, "t" * 501)),
    ("workspace", ([], "w" * 501)),
    ("labels", ([], "a", {"a": 5}, {"a": None}, {"a": "b" * 501})),
    ("ended_at", (5, True, *BAD_MOMENTS)),
    ("signals", ({}, "s", 5, False)),
    ("acceptance_rule", ([], "rule", 5, {}, {"name": "x"}, {"definition": "x"}, False)),
)
RULE_DAMAGE: Table = (
    ("name", (None, 5, "n" * 201)),
    ("definition", (None, 5, "d" * 501)),
    ("requires", ("tests", [5], [None], ["n" * 201], {})),
    ("excludes_events", ("revert", [5], [None], ["n" * 201], {})),
    ("window_days", (-1, 14.5, "14", True, [], -1.0)),
    ("score", ([], 5, "quality", {}, {"name": "quality", "target": None, "better": "higher"})),
    (
        "score",
        (
            {"name": "q", "target": 1.5, "better": "lower", "scale": "fraction"},
            {"name": "q", "target": True, "better": "lower"},
        ),
    ),
    (
        "score",
        (
            {"name": "q", "target": 1, "better": None},
            {"name": 5, "target": 1, "better": "lower"},
            {"name": "q", "target": 1, "better": "lower", "scale": "x"},
        ),
    ),
)
PARTS_DAMAGE: Table = (
    ("ocp", (None, "0.2", 0.3, "0.30")),
    ("run", (None, [], "run_1")),
    ("attempts", ({}, [5], [{}], [{"id": "", "node": "n"}], [{"id": "a"}], [{"id": "a", "node": "n" * 201}])),
    (
        "attempts",
        (
            [{"id": "a", "node": "n", "n": 0}],
            [{"id": "a", "node": "n", "n": True}],
            [{"id": "a", "node": "n", "n": 1.5}],
        ),
    ),
    (
        "artifacts",
        (
            {},
            [None],
            [{"id": "a", "path": "p"}],
            [{"id": "a", "path": "p", "kind": {}}],
            [{"id": "a", "path": "p", "kind": "commit"}],
        ),
    ),
    (
        "artifacts",
        (
            [{"id": "a", "path": "", "kind": {"value": "commit"}}],
            [{"id": "a", "path": "p" * 1001, "kind": {"value": None}}],
        ),
    ),
    (
        "artifacts",
        ([{"path": "p", "kind": {"value": "commit"}}], [{"id": "i" * 201, "path": "p", "kind": {"value": 5}}]),
    ),
)
