"""What can be set through the API can be written into a document, or there is a reason why not."""

import pytest
from fastapi import FastAPI

from mainspring.documents.document import json_schema
from tests.api.every import every_operation
from tests.stores.databases import is_sqlite

# The write, and the section whose entries say the same. An entry's name is its key.
SECTIONS = {
    "create_job": "jobs",
    "update_job": "jobs",
    "create_endpoint": "endpoints",
    "update_endpoint": "endpoints",
    "create_connection": "connections",
    "update_connection": "connections",
    "create_webhook": "webhooks",
    "update_webhook": "webhooks",
    "create_alert": "alerts",
    "update_alert": "alerts",
    "create_calendar": "calendars",
    "update_calendar": "calendars",
    "create_maintenance": "maintenance",
    "update_maintenance": "maintenance",
}
NOT_CONFIGURATION = {"new_secret"}  # an act; a document names the secret
ELSEWHERE = {
    "create_rule": "the key `rules` of an endpoint or a job",
    "update_rule": "the key `rules` of an endpoint or a job",
    "delete_rule": "the key `rules` of an endpoint or a job",
    "publish_workflow": "an entry of `workflows` is the document",
    "apply_config": "a document is what it takes",
    "create_ping_url": "a secret that the server draws",
    "revoke_ping_url": "a secret that the server draws",
    "create_calls": "a call is asked for once; an endpoint with `at` says the same",
    "delete_endpoint": "--prune",
    "delete_alert": "--prune",
    "delete_calendar": "--prune",
    "delete_maintenance": "--prune",
    "delete_webhook": "--prune",
    "delete_connection": "--prune",
    "archive_job": "--prune",
    "archive_endpoint": "--prune",
    "archive_endpoints": "--prune",
    "restore_endpoint": "an entry that describes it again",
}
STATE = {"pause", "resume", "reset", "run", "put", "clear", "act", "order", "retry", "skip", "cancel", "erase", "start",
         "send", "redeliver", "look", "approve", "reject"}  # fmt: skip
ASKING = {"check", "test", "simulate", "replay", "draft", "verify", "log"}
WHO = {
    "user",
    "member",
    "key",
    "password",
    "tenant",
    "link",
    "session",
    "sessions",
    "invitation",
    "factor",
    "passkey",
}  # who may do what is no matter of a repository
NOT_IN_DOCUMENTS = {
    "archive_workflow": "retiring one is an act of a person: executions may still run its versions",
    "restore_workflow": "the same; an entry that says something new brings it back too",
    "set_up": "it opens the first owner's link",
    "set_tenant_mode": "a switch for an emergency; a document would throw it back at its next apply",
    "set_endpoint_mode": "a switch for an emergency; a document would throw it back at its next apply",
    "set_mode_for_all": "a switch for an emergency, and the operator's",
    "update_quotas": "the operator's, and not the tenant's who applies documents",
}


@pytest.fixture(autouse=True)
def once(store_url: str) -> None:
    if not is_sqlite(store_url):
        pytest.skip("the database is not what is tested here")


def test_every_write_has_a_section_or_a_reason(app: FastAPI) -> None:
    unexplained = []
    for operation in every_operation(app):
        words = set(operation.id.split("_"))
        is_known = operation.id in SECTIONS | ELSEWHERE | NOT_IN_DOCUMENTS
        if operation.method != "get" and not is_known and not words & (STATE | ASKING | WHO):
            unexplained.append(operation.id)

    assert unexplained == []


@pytest.mark.parametrize("operation_id", SECTIONS)
def test_every_field_of_a_write_is_a_key_of_its_entry(app: FastAPI, operation_id: str) -> None:
    (operation,) = [each for each in every_operation(app) if each.id == operation_id]
    schema = json_schema()
    properties = schema["properties"]
    assert isinstance(properties, dict)
    entry = _resolved(schema, properties[SECTIONS[operation_id]]["additionalProperties"])
    body = operation.described["requestBody"]["content"]["application/json"]["schema"]
    fields = set(_resolved(app.openapi(), body)["properties"]) - {"name"}

    assert fields - set(entry["properties"]) <= NOT_CONFIGURATION


def _resolved(document: dict[str, object], schema: dict[str, object]) -> dict[str, dict[str, object]]:
    while "$ref" in schema or "anyOf" in schema:
        choices = schema.get("anyOf")
        if isinstance(choices, list):
            schema = choices[0]
            continue
        found: object = document
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            assert isinstance(found, dict)
            found = found[part]
        assert isinstance(found, dict)
        schema = found
    return schema  # type: ignore[return-value]  # JSON Schema: what stands under its keys are objects
