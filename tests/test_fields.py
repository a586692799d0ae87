"""A field of an endpoint's configuration is written in one module, and where it is used. Everything else follows.

The fields below are a sample. A module that is not listed here has no business with the name: doors, rows and views
read the description in `domain/endpoint.py`.
"""

import re
from pathlib import Path

import pytest

from mainspring.domain.endpoint import CONFIG_FIELDS, JOB_FIELDS, SETTINGS, Endpoint, EndpointConfig
from mainspring.domain.notify.subscription import ALERT_FIELDS, WEBHOOK_FIELDS
from mainspring.domain.run import HttpAction
from mainspring.domain.schedule.maintenance import MAINTENANCE_FIELDS
from mainspring.inputs.models import AlertSettings, EndpointSettings, JobSettings, MaintenanceSettings, WebhookSettings
from mainspring.stores.rows import ENDPOINT_COLUMNS
from mainspring.views.endpoint import EndpointSettingsView

SOURCE = Path(__file__).parents[1] / "src" / "mainspring"
CLIENT = "client/"  # knows the API alone; its lists of fields are generated
WORDED = "cli/endpoint_output.py"  # a setting whose line for people says more than its name and value

# A field: where it is described, and the modules that use its value.
WRITTEN = {
    "runbook": ("domain/endpoint.py", {"domain/notify/message.py", "workers/alerts.py"}),
    "max_lateness_ms": (
        "domain/endpoint.py",
        {"domain/schedule/claim.py", "domain/schedule/retry.py", "documents/imports/kubernetes.py", WORDED},
    ),
    "catch_up_max": ("domain/endpoint.py", {"domain/schedule/claim.py", WORDED}),
    "on_lost_worker": ("domain/endpoint.py", {"domain/schedule/claim.py", "stores/postgres/schedule.py", WORDED}),
    "jitter_ms": (
        "domain/endpoint.py",
        {
            "domain/definition.py",
            "domain/schedule/changes.py",
            "domain/schedule/governor.py",
            "documents/imports/first_day.py",
            "views/imports.py",
        },
    ),
    "redirects_max": (
        "domain/run.py",
        {
            "outbound/http.py",
            "outbound/request.py",
            "documents/imports/crontab.py",
            "documents/imports/uptime_kuma.py",
            WORDED,
        },
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_field_is_written_where_it_is_described_and_where_it_is_used(name: str) -> None:
    described, used = WRITTEN[name]
    (field,) = [each for each in CONFIG_FIELDS if each.name == name]
    word = re.compile(rf"\b({field.name}|{field.key})\b")
    modules = {
        str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if word.search(file.read_text(encoding="utf-8"))
    }

    assert {each for each in modules if not each.startswith(CLIENT)} == {described} | used


def test_every_field_of_the_configuration_is_described() -> None:
    named = {field.name for field in CONFIG_FIELDS}

    assert set(EndpointConfig.__struct_fields__) - named == {"action"}
    assert set(HttpAction.__struct_fields__) - named == {"query", "templated"}
    assert [field.name for field in CONFIG_FIELDS if not field.about.sentence.endswith(".")] == []


def test_doors_views_and_rows_have_every_setting() -> None:
    assert set(EndpointSettings.model_fields) == {field.key for field in SETTINGS}
    assert set(EndpointSettingsView.model_fields) == {field.name for field in SETTINGS}
    assert set(EndpointConfig.__struct_fields__) <= set(Endpoint.__struct_fields__)
    assert set(EndpointConfig.__struct_fields__) <= set(ENDPOINT_COLUMNS)


def test_fields_of_an_endpoint_are_in_the_order_of_its_columns() -> None:
    hints = {"hint_interval_ms": "interval_hint", "hint_one_shot_at": "one_shot_hint"}
    columns = [hints.get(name, name) for name in ENDPOINT_COLUMNS if name in hints or not name.startswith("hint_")]
    places = len(EndpointConfig.__struct_fields__)

    assert tuple(columns[3 : 3 + places] + columns[:3] + columns[3 + places :]) == Endpoint.__struct_fields__


def test_input_has_a_name_of_its_own_and_no_unit() -> None:
    keys = [field.key for field in CONFIG_FIELDS]

    assert len(set(keys)) == len(keys)
    assert [key for key in keys if key.endswith("_ms")] == []


@pytest.mark.parametrize(
    ("name", "described", "used"),
    [
        (
            "during_quiet",
            "domain/notify/subscription.py",
            {"operations/alerts.py", "views/notification.py", "cli/alert.py"},
        ),
        (
            "cooldown_ms",
            "domain/notify/subscription.py",
            {
                "operations/alerts.py",
                "domain/notify/alerting.py",
                "views/notification.py",
                "cli/alert.py",
                "simulation/demo.py",
            },
        ),
    ],
)
def test_setting_of_an_alert_is_written_where_it_is_described_and_used(
    name: str, described: str, used: set[str]
) -> None:
    modules = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        if re.search(rf"\b{name}\b", file.read_text(encoding="utf-8"))
    }

    assert {each for each in modules if not each.startswith((CLIENT, "domain/rules/", "stores/"))} == {described} | used


def test_doors_have_every_setting_of_jobs_alerts_and_webhooks() -> None:
    for fields, model in (
        (JOB_FIELDS, JobSettings),
        (ALERT_FIELDS, AlertSettings),
        (WEBHOOK_FIELDS, WebhookSettings),
        (MAINTENANCE_FIELDS, MaintenanceSettings),
    ):
        assert set(model.model_fields) == {field.key for field in fields} - {"name"}
        assert [field.name for field in fields if not field.about.sentence.endswith(".")] == []
