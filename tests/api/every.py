"""Every operation of the document, with a request that it accepts: what the generated tests are made from."""

from fastapi import FastAPI
from httpx2 import AsyncClient, Response

from tests.api.acting import URL, Json

WAITS = "name: waits\nsteps:\n  - {id: a, wait_for: {event: go, timeout: 5d}}\n  - {id: b, end: went}\n"
# A body that is accepted, for those that need one.
BODIES: dict[str, Json] = {
    "create_job": {"name": "another"},
    "update_job": {"description": "changed"},
    "create_endpoint": {"name": "another", "url": URL, "every": "1m"},
    "create_calls": {"calls": [{"url": URL, "at": "in 1h", "key": "another"}]},
    "check_endpoint": {"name": "unsaved", "url": URL, "every": "1m"},
    "update_endpoint": {"every": "7m", "name": "renamed"},
    "pause_endpoint": {"duration": "1h"},
    "put_interval_hint": {"every": "10s"},
    "put_one_shot_hint": {"after": "5s"},
    "act_on_endpoints": {"verb": "pause", "matching": {}, "reason": "moving"},
    "archive_endpoints": {"matching": {}},
    "update_quotas": {"runs_per_month": 5},
    "apply_config": {"document": f"endpoints: {{new: {{url: '{URL}', every: 1m}}}}"},
    "create_webhook": {"url": URL, "name": "another"},
    "update_webhook": {"description": "changed"},
    "create_connection": {"name": "another", "base_url": URL, "auth": "header", "header": "X-Key", "secret": "s3cret"},
    "update_connection": {"description": "changed"},
    "test_connection": {"path": "/health"},
    "create_alert": {"name": "another", "to": ["ops@example.com"]},
    "update_alert": {"failures": 5},
    "create_maintenance": {"name": "another", "cron": "0 2 * * *", "duration": "1h"},
    "update_maintenance": {"description": "changed"},
    "create_calendar": {"name": "another", "dates": ["2030-12-24 Closed"], "weekdays": ["sun"]},
    "update_calendar": {"description": "changed"},
    "create_rule": {"endpoint": "billing", "rule": {"when": "body.depth > 10", "interval": "30s"}},
    "update_rule": {"rule": {"interval": "1m"}},
    "check_rules": {"endpoint": "billing", "rules": [{"when": "ok", "clear_hints": True}]},
    "test_rules": {"endpoint": "billing"},
    "set_tenant_mode": {"mode": "shadow"},
    "set_mode_for_all": {"mode": "live"},
    "set_endpoint_mode": {"mode": "off"},
    "reject_proposal": {"reason": "not now"},
    "run_simulation": {"scenario": "no-such"},
    "draft_rules": {"endpoint": "billing"},
    "publish_workflow": {"document": WAITS.replace("5d", "6d")},
    "check_workflow": {"document": WAITS},
    "simulate_workflow": {"document": WAITS, "events": [{"after": "1d", "type": "go"}]},
    "start_execution": {"correlation": "order-8"},
    "start_executions": {"executions": [{"correlation": "order-9"}, {}]},
    "replay_workflow": {"document": WAITS.replace("5d", "6d")},
    "replay_execution": {"version": 1},
    "order_executions": {"verb": "pause", "workflow": "waits"},
    "send_event": {"to": "order-7", "type": "go"},
    "send_events": {"events": [{"to": "order-7", "type": "go"}]},
    "verify_partitions": {},
    "create_user": {"email": "bo@example.com"},
    "update_user": {"name": "Ann B."},
    "create_member": {"email": "cy@example.com", "role": "viewer"},
    "update_member": {"role": "viewer"},
    "create_api_key": {"name": "another", "scopes": ["admin"]},
    "create_tenant": {"id": "acme"},
    "update_tenant": {"runs_per_month": 5},
    **{f"{verb}_execution": {"reason": "a test"} for verb in ("pause", "resume", "cancel", "retry", "skip", "erase")},
    "run_backtest": {"endpoint": "billing", "every": "10m"},
}
# What the status of the execution under test does not allow, rehearsed or not.
NOT_NOW = ("resume_execution", "retry_execution", "erase_execution")
# What may change something and has no dry_run, and why that is so.
WITHOUT_DRY_RUN = {
    "check_endpoint": "it stores nothing",
    "create_ping_url": "nothing else changes",
    "revoke_ping_url": "nothing else changes",
    "check_rules": "it stores nothing",
    "test_rules": "it stores nothing",
    "run_simulation": "it stores nothing",
    "draft_rules": "it is a draft",
    "run_backtest": "it stores nothing",
    "set_mode_for_all": "one switch, for operators",
    "look_at_endpoint": "shadow mode is its rehearsal",
    "check_workflow": "it stores nothing",
    "simulate_workflow": "it stores nothing",
    "replay_workflow": "it stores nothing",
    "replay_execution": "it stores nothing",
    "verify_partitions": "it stores nothing",
    "test_webhook": "it stores nothing",
    "test_alert": "it stores nothing",
    "test_connection": "it stores nothing but that it was done",
    "log_in": "who asks is not known before",
    "set_up": "who asks is not known before",
    "read_link": "it stores nothing",
    "accept_invitation": "the link says what it offers before it is used",
    "choose_tenant": "for its own user alone",
    "begin_second_factor": "nothing is in force before it is confirmed",
    "confirm_second_factor": "for its own user",
    "disable_second_factor": "for its own user",
    "begin_passkey": "it stores a challenge alone",
    "create_passkey": "for its own user",
    "update_passkey": "for its own user",
    "remove_passkey": "for its own user",
    "begin_passkey_login": "who asks is not known before",
    "log_in_with_passkey": "who asks is not known before",
    "end_login_session": "a session is all that it ends",
    "end_other_sessions": "sessions are all that it ends",
    "log_out": "a session is all that it ends",
    "change_password": "for its own user; what is wrong with a password is said before anything is done",
}
WITHOUT_IDEMPOTENCY_KEY = {
    "log_in": "an answer given again would be a session given away",
    "set_up": "a link opens once",
    "read_link": "it stores nothing",
    "accept_invitation": "a link opens once",
    "choose_tenant": "twice is as once",
    "begin_second_factor": "a kept answer would keep the secret",
    "confirm_second_factor": "a code is good once",
    "disable_second_factor": "a code is good once",
    "begin_passkey": "a challenge is good once",
    "create_passkey": "a challenge is good once",
    "update_passkey": "twice is as once",
    "remove_passkey": "twice is as once",
    "begin_passkey_login": "a challenge is good once",
    "log_in_with_passkey": "an answer given again would be a session given away",
    "end_login_session": "twice is as once",
    "end_other_sessions": "twice is as once",
    "log_out": "ends the session that it is asked with",
    "change_password": "ends the session that it is asked with",
}
# What gives somebody scopes: it needs those too.
GRANTS = frozenset({"create_member", "update_member"})
# What a read must be told besides the ids in its path.
QUERIES = {"list_recent_runs": "?endpoint={endpoint}"}
RANDOM = {
    "endpoint": "ep_0000",
    "job": "job_0000",
    "run": "run_0000",
    "call": "call_0000",
    "key": "k_0000",
    "webhook": "web_0000",
    "alert": "alr_0000",
    "window": "mnt_0000",
    "calendar": "cal_0000",
    "connection": "con_0000",
    "delivery": "msg_0000",
    "rule_id": "rule_0000",
    "session": "ses_0000",
    "proposal": "prop_0000",
    "workflow": "wfl_0000",
    "execution": "exe_0000",
    "version": "1",
    "user": "usr_0000",
    "signing_key": "sk_0000",
    "tenant": "nowhere",
}
NAMED_OTHERWISE = {"revoke_signing_key": {"key": "signing_key"}}  # two kinds of keys, one name in their paths


class Operation:
    def __init__(self, method: str, path: str, described: Json) -> None:
        self.method = method
        self.path = path
        self.described = described
        self.id = str(described["operationId"])
        parameters = described.get("parameters", [])
        self.in_path = [each["name"] for each in parameters if each["in"] == "path"]
        self.in_header = [each["name"] for each in parameters if each["in"] == "header"]
        self.is_for_operators = described.get("x-operator") is True
        self.is_stream = "text/event-stream" in str(described["responses"])
        self.in_query = [each["name"] for each in parameters if each["in"] == "query"]

    async def send(self, client: AsyncClient, ids: dict[str, str], query: str = "") -> Response:
        named = NAMED_OTHERWISE.get(self.id, {})
        path = self.path.format(**{name: ids.get(named.get(name, name), "none") for name in self.in_path})
        body = BODIES.get(self.id)
        query = query or QUERIES.get(self.id, "").format(**ids)
        return await client.request(self.method.upper(), path + query, json=body)


def every_operation(app: FastAPI) -> list[Operation]:
    """But streams, which do not end by themselves."""
    return [operation for operation in documented(app) if not operation.is_stream]


def documented(app: FastAPI) -> list[Operation]:
    paths: Json = app.openapi()["paths"]
    return [Operation(method, path, each) for path, item in paths.items() for method, each in item.items()]
