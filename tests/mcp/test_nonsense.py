"""Whatever an assistant makes up: an answer in words with the way out, never a traceback, and nothing changed."""

from mainspring.operations.endpoints import add_endpoint, find_endpoint
from tests.mcp.conftest import HEALTH, Assistant, House

NONSENSE: dict[str, tuple[str, dict[str, object], str]] = {
    "an unknown tool": ("delete_everything", {}, "no tool 'delete_everything'"),
    "a misspelt tool": ("list_endpoint", {}, "no tool 'list_endpoint', did you mean 'list_endpoints'?"),
    "an unknown endpoint": ("why", {"endpoint": "healt"}, "no endpoint 'healt', did you mean 'health'?"),
    "an unknown run": ("get_run", {"run": "run_x"}, "no run 'run_x'"),
    "an unknown job": ("list_endpoints", {"job": "x"}, "no job 'x'"),
    "an unknown status": (
        "list_runs",
        {"status": "bad"},
        "argument 'status' is 'bad', and that is not one of running, ",
    ),
    "a missing argument": ("why", {}, "why: argument 'endpoint' is missing"),
    "a misspelt argument": ("list_runs", {"endpont": "h"}, "unknown argument 'endpont', did you mean 'endpoint'?"),
    "a superfluous argument": ("list_jobs", {"x": 1}, "list_jobs: unknown argument 'x'; known arguments: none"),
    "a list for a name": ("why", {"endpoint": ["health"]}, "argument 'endpoint' is '['health']', and that is not text"),
    "too many": ("list_runs", {"limit": 10**9}, "above the maximum; give 100 or less"),
    "fewer than one": ("list_runs", {"limit": 0}, "below the minimum; give 1 or more"),
    "a NUL": ("why", {"endpoint": "a\x00b"}, "argument 'endpoint' contains a NUL"),
    "a NUL deep inside": (
        "edit_endpoint",
        {"endpoint": "health", "headers": {"A": "\x00"}},
        "'headers' contains a NUL",
    ),
    "no duration": ("pause_endpoint", {"endpoint": "health", "duration": "soon"}, "duration 'soon' is not a duration"),
    "no instant": ("pause_endpoint", {"endpoint": "health", "until": "noon"}, "until 'noon' is not a timestamp; write"),
    "an instant without a zone": ("pause_endpoint", {"endpoint": "health", "until": "2025-01-02T00:00:00"}, "zone"),
    "two ends": (
        "pause_endpoint",
        {"endpoint": "health", "until": "2025-01-02T00:00:00Z", "duration": "1h"},
        "until and duration exclude each other; give one of them",
    ),
    "the past": ("pause_endpoint", {"endpoint": "health", "until": "2020-01-01T00:00:00Z"}, "cannot pause until"),
    "no hint": (
        "put_hint",
        {"endpoint": "health"},
        "one of every, at, after and clear, and none was given",
    ),
    "two hints": ("put_hint", {"endpoint": "health", "every": "5s", "after": "5s"}, "and every and after was"),
    "too quick a hint": ("put_hint", {"endpoint": "health", "every": "1ms"}, "below the minimum 1s"),
    "too long a hint": ("put_hint", {"endpoint": "health", "every": "5s", "ttl": "9d"}, "at most 24h"),
    "no schedule": ("create_endpoint", {"name": "n", "url": "https://e.com/"}, "exactly one of every, cron and at"),
    "no cron": ("create_endpoint", {"name": "n", "url": "https://e.com/", "cron": "x"}, "cron"),
    "no URL": ("create_endpoint", {"name": "n", "url": "x", "every": "1m"}, "url"),
    "a taken name": (
        "create_endpoint",
        {"name": "health", "url": "https://e.com/", "every": "1m"},
        "named 'health'",
    ),
    "no method": ("edit_endpoint", {"endpoint": "health", "method": "GRAB"}, "unknown method 'GRAB'"),
    "no condition": ("edit_endpoint", {"endpoint": "health", "condition": "((("}, "condition"),
    "a made-up cursor": ("list_events", {"after": "x' OR 1=1"}, "cursor"),
}


async def test_nonsense_is_answered_in_words_and_changes_nothing(assistant: Assistant, house: House) -> None:
    before = await add_endpoint(house.desk(), HEALTH)

    for case, (tool, arguments, words) in NONSENSE.items():
        answer = await assistant.ask(tool, arguments)
        assert words in answer.message, case
        assert "Traceback" not in answer.text, case
        assert "pydantic" not in answer.text, case
        assert len(answer.text) < 1_000, case
        assert await find_endpoint(house.desk(), "health") == before, case


async def test_faults_beyond_a_few_are_counted(assistant: Assistant) -> None:
    message = await assistant.refused("list_runs", **{f"x{number}": 1 for number in range(50)})

    assert message.endswith("; and 45 more")
    assert len(message) < 1_000
