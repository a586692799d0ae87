"""What a user may write down about an endpoint, and what each refusal says (bad input, rows 51 to 57)."""

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config
from tests.stores.world import an_endpoint

from mainspring.domain.definition import check_config, config_of, configured, contradiction_of
from mainspring.domain.endpoint import INTERVAL_MS_MAX, EndpointConfig, Tenant, with_values
from mainspring.domain.errors import InvalidInput, QuotaExceeded
from mainspring.domain.kinds.http import marked_secret
from mainspring.domain.run import Header, HttpAction
from mainspring.domain.text import check_text

TENANT = Tenant("default", "default")
PLAIN = a_config("billing", "https://example.org/", interval_ms=60_000)


def checked(**fields: object) -> EndpointConfig:
    return check_config(with_values(PLAIN, fields), TENANT, "ep_1")[0]


def refusal(**fields: object) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        checked(**fields)
    return refused.value


def test_a_plain_definition_passes_with_its_host() -> None:
    assert check_config(PLAIN, TENANT) == (PLAIN, "example.org:443")


def test_what_is_not_said_has_a_default() -> None:
    assert a_config("billing", "https://example.org/") == a_config(
        name="billing", url="https://example.org/", job="default", description="", method="GET", headers=(), body=None,
        cron=None, interval_ms=None, timezone="UTC", timeout_ms=30_000, min_interval_ms=None, max_interval_ms=None,
        backoff="default", jitter_ms=0, spread=True, misfire="run_once", catch_up_max=10, max_lateness_ms=None,
        on_lost_worker="retry", body_cap=100_000, redirects_max=0, accept_codes=(), condition=None,
    )  # fmt: skip


def test_what_passes_is_normalised() -> None:
    given = a_config(
        "  cafe\u0301 ",
        "HTTPS://Example.ORG:443",
        job=" nightly ",
        description="re\u0301sume\u0301",
        method="post",
        interval_ms=60_000,
        min_interval_ms=0,
        max_interval_ms=0,
        headers=(Header("X-Api-Key", "k"),),
    )

    assert check_config(given, TENANT)[0] == a_config(
        "café",
        "https://example.org/",
        job="nightly",
        description="résumé",
        method="POST",
        interval_ms=60_000,
        headers=(Header("X-Api-Key", "k", secret=True),),
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"interval_ms": 100},
        {"interval_ms": INTERVAL_MS_MAX},
        {"interval_ms": None, "cron": "*/15 * * * *", "timezone": "Europe/Berlin"},
        {"interval_ms": None, "cron": "H H * * *", "jitter_ms": 3_600_000},
        {"interval_ms": None, "cron": "* * * * *", "min_interval_ms": 60_000},
        {"min_interval_ms": 60_000, "max_interval_ms": 60_000},
        {"min_interval_ms": 1_000, "max_interval_ms": INTERVAL_MS_MAX},
        {"timeout_ms": 1},
        {"timeout_ms": 600_000},
        {"jitter_ms": 30_000},
        {"max_lateness_ms": 0},
        {"catch_up_max": 100, "misfire": "catch_up"},
        {"redirects_max": 5},
        {"body_cap": 0},
        {"body": ""},
        {"body": "0"},
        {"accept_codes": (100, 204, 999)},
        {"condition": "status_code == 200"},
        {"headers": tuple(Header(f"x-{number}", "v") for number in range(50))},
        {"backoff": "monitor", "on_lost_worker": "skip"},
    ],
)
def test_what_lies_on_the_edge_passes(fields: dict[str, object]) -> None:
    assert checked(**fields).name == "billing"


BAD = [
    pytest.param({"interval_ms": 0}, "every", "interval 0 ms is out of bounds; give 100ms to 366d", id="interval 0"),
    pytest.param({"interval_ms": -1}, "every", "interval -1 ms is out of bounds", id="interval -1"),
    pytest.param({"interval_ms": 99}, "every", "interval 99 ms is out of bounds", id="interval below 100 ms"),
    pytest.param({"interval_ms": INTERVAL_MS_MAX + 1}, "every", "out of bounds", id="interval above 366 days"),
    pytest.param({"interval_ms": 10**40}, "every", "out of bounds", id="interval of an age of the universe"),
    pytest.param({"interval_ms": True}, "every", "interval True ms is out of bounds", id="interval true"),
    pytest.param({"interval_ms": float("nan")}, "every", "interval nan ms is out of bounds", id="interval NaN"),
    pytest.param(
        {"interval_ms": None}, "every",
        "no schedule for 'billing'; an endpoint has exactly one of every, cron and at: "
        "give one (on the command line: --every, --cron or --at)", id="no schedule",
    ),
    pytest.param(
        {"cron": "* * * * *"}, "every", "an interval and a cron expression for 'billing'; ", id="two schedules"
    ),
    pytest.param({"min_interval_ms": 999}, "min_interval", "min_interval 999 ms is out of bounds", id="low minimum"),
    pytest.param({"min_interval_ms": -1}, "min_interval", "min_interval -1 ms is out of bounds", id="negative minimum"),
    pytest.param({"max_interval_ms": True}, "max_interval", "max_interval True ms is out of bounds", id="maximum true"),
    pytest.param(
        {"max_interval_ms": INTERVAL_MS_MAX + 1}, "max_interval", "max_interval 31622400001 ms is out of bounds",
        id="maximum above 366 days",
    ),
    pytest.param(
        {"min_interval_ms": 120_000, "max_interval_ms": 60_000}, "min_interval",
        "min_interval 2m is above max_interval 1m; no run could satisfy both: lower the one or raise the other",
        id="minimum above maximum",
    ),
    pytest.param(
        {"min_interval_ms": 60_001}, "every",
        "interval 1m for 'billing' is below its min_interval 1m0.001s; raise the interval or lower min_interval",
        id="interval below its minimum",
    ),
    pytest.param(
        {"max_interval_ms": 59_999}, "every",
        "interval 1m for 'billing' is above its max_interval 59.999s; lower the interval or raise max_interval",
        id="interval above its maximum",
    ),
    pytest.param(
        {"interval_ms": None, "cron": "0 2 * * *", "max_interval_ms": 3_600_000}, "cron",
        "the times of cron '0 2 * * *' are at least 1d apart, above max_interval 1h, so it would run every 1h "
        "instead of at those times; raise max_interval, leave it out, or give an interval in place of the cron",
        id="cron above its maximum",
    ),
    pytest.param({"timeout_ms": 0}, "timeout", "timeout 0 ms is out of bounds; give 1ms to 10m", id="no timeout"),
    pytest.param({"timeout_ms": 600_001}, "timeout", "timeout 600001 ms is out of bounds", id="timeout too long"),
    pytest.param({"timeout_ms": True}, "timeout", "timeout True ms is out of bounds", id="timeout true"),
    pytest.param({"jitter_ms": -1}, "jitter", "jitter -1 ms is out of bounds; give 0 to 30s", id="negative jitter"),
    pytest.param({"jitter_ms": 30_001}, "jitter", "jitter 30001 ms is out of bounds", id="jitter above half"),
    pytest.param(
        {"interval_ms": None, "cron": "* * * * *", "jitter_ms": 3_600_001}, "jitter", "give 0 to 1h", id="cron jitter"
    ),
    pytest.param({"max_lateness_ms": -1}, "max_lateness", "max_lateness -1 ms is out of bounds", id="lateness"),
    pytest.param({"catch_up_max": 0}, "catch_up_max", "catch_up_max 0 is out of bounds; give 1 to 100", id="none"),
    pytest.param({"catch_up_max": 101}, "catch_up_max", "catch_up_max 101 is out of bounds", id="catch up 101"),
    pytest.param({"redirects_max": 6}, "redirects_max", "redirects_max 6 is out of bounds; give 0 to 5", id="six hops"),
    pytest.param({"redirects_max": True}, "redirects_max", "redirects_max True is out of bounds", id="hops true"),
    pytest.param({"body_cap": 10_000_001}, "body_cap", "give 0 to 10,000,000", id="body cap"),
    pytest.param({"accept_codes": (99,)}, "accept_codes", "accept_codes 99 is out of bounds", id="status 99"),
    pytest.param({"accept_codes": (200, 1_000)}, "accept_codes", "give 100 to 999", id="status 1000"),
    pytest.param({"condition": "status_code =="}, "condition", "does not compile", id="broken condition"),
    pytest.param({"body": "x" * 1_000_001}, "body", "body has 1,000,001 characters; at most 1,000,000", id="body"),
    pytest.param({"body": "a\x00b"}, "body", "body contains a NUL or half a surrogate pair", id="NUL in body"),
    pytest.param({"description": "\ud800"}, "description", "contains a NUL or half a surrogate", id="half a pair"),
    pytest.param({"description": "x" * 10_001}, "description", "10,001 characters; at most 10,000", id="description"),
    pytest.param({"method": "PSOT"}, "method", "unknown method 'PSOT', did you mean 'POST'?", id="method"),
    pytest.param({"method": "CONNECT"}, "method", "; choose one of GET, HEAD, POST, PUT", id="method not offered"),
    pytest.param({"backoff": "monitr"}, "backoff", "did you mean 'monitor'?; choose one of default", id="backoff"),
    pytest.param({"misfire": "run-once"}, "misfire", "unknown misfire 'run-once', did you mean 'run_once'?", id="dash"),
    pytest.param({"on_lost_worker": "x"}, "on_lost_worker", "'x'; choose one of retry, skip", id="lost worker"),
    pytest.param({"name": " "}, "name", "endpoint name ' ' consists of spaces", id="blank name"),
    pytest.param({"job": "a\x00"}, "job", "job job 'a\\x00' contains a control character", id="NUL in job"),
    pytest.param({"url": "ftp://example.org"}, "url", "start it with http:// or https://", id="url"),
    pytest.param({"headers": (Header("Host", "x"),)}, "headers", "Mainspring writes it", id="a header of ours"),
    pytest.param({"headers": (Header("X", "a\r\nb"),)}, "headers", "line break", id="a header of two lines"),
    pytest.param({"headers": (Header("x", ""),) * 51}, "headers", "headers 51 is out of bounds", id="51 headers"),
]  # fmt: skip

BAD_SCHEDULES = [
    ("60 * * * *", "UTC", "cron", "60 is out of range"),
    ("0 0 31 2 *", "UTC", "cron", "never fires"),
    ("*/0 * * * *", "UTC", "cron", "is 0"),
    ("5-1 * * * *", "UTC", "cron", "runs backwards"),
    ("@reboot", "UTC", "cron", "has no time"),
    ("x" * 10_000, "UTC", "cron", "10000 characters"),
    ("٠ * * * *", "UTC", "cron", "U+0660"),
    ("* * * * *", "../../etc/passwd", "timezone", "is unknown"),
    ("* * * * *", "localtime", "timezone", "is unknown"),
    ("* * * * *", "posixrules", "timezone", "is unknown"),
    ("* * * * *", "europe/berlin", "timezone", "did you mean 'Europe/Berlin'?"),
    ("* * * * *", "", "timezone", "is unknown"),
    ("* * * * *", "UTC\x00", "timezone", "is unknown"),
]


@pytest.mark.parametrize(("fields", "field", "words"), BAD)
def test_bad_input_is_refused_with_its_field_and_the_way_out(fields: dict[str, object], field: str, words: str) -> None:
    refused = refusal(**fields)

    assert refused.field == field
    assert words in str(refused)


@pytest.mark.parametrize(("cron", "zone", "field", "words"), BAD_SCHEDULES)
def test_a_schedule_that_cannot_be_meant_is_refused(cron: str, zone: str, field: str, words: str) -> None:
    refused = refusal(interval_ms=None, cron=cron, timezone=zone)

    assert (refused.field, words in str(refused)) == (field, True)


def test_an_interval_endpoint_needs_a_known_zone_too() -> None:
    assert refusal(timezone="Mars/Olympus").field == "timezone"


def test_the_tenants_minimum_interval_is_a_quota() -> None:
    tenant = replace(TENANT, interval_ms_min=300_000)
    with pytest.raises(QuotaExceeded) as refused:
        check_config(PLAIN, tenant)

    assert str(refused.value) == "interval 1m is below the tenant's minimum 5m; raise it"
    assert (refused.value.quota, refused.value.limit) == ("interval_ms_min", 300_000)
    assert check_config(replace(PLAIN, interval_ms=300_000), tenant)[0].interval_ms == 300_000
    assert check_config(replace(PLAIN, interval_ms=None, cron="0 * * * *"), tenant)[0].cron == "0 * * * *"


@pytest.mark.parametrize(
    ("cron", "closest"),
    [("* * * * *", "1m"), ("*/4 * * * *", "4m"), ("0 * * * * *", "1m"), ("0,3 12 * * 1", "3m"), ("58,0 * * * *", "2m")],
)
def test_a_cron_whose_times_are_closer_than_the_tenants_minimum_is_refused(cron: str, closest: str) -> None:
    with pytest.raises(QuotaExceeded) as refused:
        check_config(replace(PLAIN, interval_ms=None, cron=cron), replace(TENANT, interval_ms_min=300_000))

    assert str(refused.value) == (
        f"cron {cron!r} has times only {closest} apart, and the tenant's minimum is 5m; choose times further apart"
    )


@pytest.mark.parametrize("cron", ["*/5 * * * *", "0 0 29 2 1", "@yearly", "H/5 * * * *"])
def test_a_cron_that_keeps_the_tenants_minimum_passes(cron: str) -> None:
    given = replace(PLAIN, interval_ms=None, cron=cron)

    assert check_config(given, replace(TENANT, interval_ms_min=300_000), "ep_1")[0].cron == cron


def test_a_daily_cron_keeps_a_minimum_of_a_day_also_where_one_day_has_23_hours() -> None:
    given = replace(PLAIN, interval_ms=None, cron="0 9 * * *", timezone="Europe/Berlin")

    assert check_config(given, replace(TENANT, interval_ms_min=86_400_000))[0].cron == "0 9 * * *"


def test_a_service_port_passes_only_where_the_operator_allows_it() -> None:
    given = with_values(PLAIN, {"url": "http://example.org:5432/"})
    with pytest.raises(InvalidInput, match="belongs to another service"):
        check_config(given, TENANT)

    assert check_config(given, TENANT, allow_ports=frozenset({5432}))[1] == "example.org:5432"


@pytest.mark.parametrize(
    "name",
    [
        "Authorization", "Proxy-Authorization-Info", "Cookie", "X-Api-Key", "apikey", "X-Auth-User", "X-CSRF-Token",
        "client-secret", "X-Password", "X-Hub-Signature-256", "Key", "X-Key", "X_AUTH_KEY", "Ocp-Apim-Subscription-Key",
    ],
)  # fmt: skip
def test_a_header_that_speaks_of_a_secret_is_one(name: str) -> None:
    assert marked_secret(Header(name, "s")) == Header(name, "s", secret=True)


@pytest.mark.parametrize("name", ["Idempotency-Key", "X-Idempotency-Key", "X-Key-Id", "X-Keyboard", "Monkey"])
def test_a_key_that_only_tells_things_apart_is_no_secret(name: str) -> None:
    assert marked_secret(Header(name, "s")) == Header(name, "s")


def test_another_header_is_secret_only_when_it_is_marked() -> None:
    assert marked_secret(Header("Accept", "text/plain")) == Header("Accept", "text/plain")
    assert marked_secret(Header("Accept", "text/plain", secret=True)).secret


@pytest.mark.parametrize("text", ["", "a", "e\u0301", "emoji 🕰", "a\r\nb\tc", "x" * 10])
def test_text_is_kept_in_one_normal_form(text: str) -> None:
    assert check_text(text, "reason", 10) == text.replace("e\u0301", "é")


@pytest.mark.parametrize("text", ["\x01", "a\x1b[31m", "\x7f", "\x85"])
def test_text_for_people_has_no_control_characters_and_a_payload_may(text: str) -> None:
    with pytest.raises(InvalidInput, match="reason contains a control character") as refused:
        check_text(text, "reason", 10)

    assert refused.value.field == "reason"
    assert check_text(text, "body", 10, is_payload=True) == text


def test_a_payload_is_not_normalised() -> None:
    assert http_of(checked(body="e\u0301")).body == "e\u0301"


@pytest.mark.parametrize("text", ["\x00", "a\ud800", "\udfff"])
def test_text_that_no_database_stores_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_text(text, "reason", 10)

    assert str(refused.value) == "reason contains a NUL or half a surrogate pair; these are not text, remove them"
    assert refused.value.field == "reason"


def test_text_that_is_too_long_is_refused_without_being_repeated() -> None:
    with pytest.raises(InvalidInput) as refused:
        check_text("x" * 1_001, "reason", 1_000)

    assert str(refused.value) == "reason has 1,001 characters; at most 1,000 are kept, shorten it"
    assert refused.value.value == 1_001


FULL = a_config(
    name="orders", url="https://example.org/hook", job="shop", description="d", method="PUT",
    headers=(Header("X-Token", "sealed", secret=True),), body="{}", cron="0 3 * * *", timezone="Europe/Berlin",
    timeout_ms=5_000, min_interval_ms=60_000, max_interval_ms=7_200_000, backoff="monitor", jitter_ms=500,
    spread=False, misfire="catch_up", catch_up_max=7, max_lateness_ms=9_000, on_lost_worker="skip", body_cap=10,
    redirects_max=2, accept_codes=(204,), condition="true",
)  # fmt: skip


def test_an_endpoint_gets_its_configuration_with_the_sealed_headers_and_query() -> None:
    endpoint = configured(an_endpoint(), FULL, (Header("X-Token", "sealed again", secret=True),), "sealed")

    assert endpoint.action == HttpAction(
        "https://example.org/hook", "PUT", (Header("X-Token", "sealed again", secret=True),), "{}", 5_000, 10, 2,
        (204,), "true", query="sealed",
    )  # fmt: skip


def test_a_configuration_comes_back_from_the_endpoint_made_of_it() -> None:
    assert config_of(configured(an_endpoint(), FULL, http_of(FULL).headers, "")) == FULL


@pytest.mark.parametrize(
    ("cron", "most_ms", "words"),
    [
        (
            "0 2 * * *",
            3_600_000,
            "the times of cron '0 2 * * *' are at least 1d apart, above max_interval 1h, so it would run every 1h "
            "instead of at those times; raise max_interval, leave it out, or give an interval in place of the cron",
        ),
        ("0 2 * * *", 86_400_000, ""),
        ("0 9-17 * * *", 3_600_000, ""),
        ("0 2 * * *", None, ""),
        (None, 1_000, ""),
    ],
)
def test_cron_that_its_maximum_contradicts_is_explained(cron: str | None, most_ms: int | None, words: str) -> None:
    assert contradiction_of(cron, most_ms, "ep_1") == words
