"""Arguments for every tool: what the tests that try all of them are made from."""

EXAMPLES: dict[str, dict[str, object]] = {  # arguments with which each tool could do something to `health`
    "list_endpoints": {},
    "get_endpoint": {"endpoint": "{id}"},
    "create_endpoint": {"name": "new", "url": "https://example.com/", "every": "1m"},
    "edit_endpoint": {"endpoint": "{id}", "every": "2m"},
    "ping_url": {"endpoint": "{id}"},
    "archive_endpoint": {"endpoint": "{id}", "confirm": "health"},
    "delete_endpoint": {"endpoint": "{id}", "confirm": "health"},
    "pause_endpoint": {"endpoint": "{id}"},
    "run_endpoint": {"endpoint": "{id}"},
    "test_endpoint": {"endpoint": "{id}"},
    "check_endpoint": {"url": "http://127.0.0.1:9/"},
    "put_hint": {"endpoint": "{id}", "every": "5s"},
    "why": {"endpoint": "{id}"},
    "get_planner": {"endpoint": "{id}"},
    "change_rules": {"endpoint": "{id}", "add": [{"when": "ok", "clear_hints": True}]},
    "list_runs": {"endpoint": "{id}"},
    "get_run": {"run": "{run}"},
    "list_events": {},
    "list_jobs": {},
    "get_executions": {"execution": "{id}"},
    "call_later": {"url": "https://example.com/", "at": "in 10m"},
    "order_execution": {"verb": "pause", "execution": "{id}"},
}


def filled(arguments: dict[str, object], **ids: str) -> dict[str, object]:
    return {name: value.format(**ids) if isinstance(value, str) else value for name, value in arguments.items()}
