"""The database as documents: stable, minimal, and the identity when applied."""

import pickle
import time
from random import Random

from mainspring.documents.document import parse_documents
from mainspring.documents.export import export_documents
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.retry import RetryPolicy
from mainspring.domain.run import Header
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint
from mainspring.operations.jobs import add_job
from mainspring.ports.endpoints import EndpointFilter
from tests.documents.texts import apply
from tests.harness.config import a_config

FULL = a_config(
    "everything", "https://example.com/a?b=1#c", job="billing", description="Lines\nof: # none", method="PUT",
    headers=(
        Header("X-B", "1"), Header("X-A", "${plain}"), Header("X-B", "2"), Header("Authorization", "s3cret"),
        Header("X-Yes", "yes"), Header("X-Empty", ""),
    ),
    body='{"a": "\\u00e9"}\n  indented\t\r\n', cron="H 3 * * *", timezone="Europe/Berlin", timeout_ms=1_500,
    min_interval_ms=1_000, max_interval_ms=86_400_000, backoff="monitor", jitter_ms=250, spread=False,
    misfire="catch_up", catch_up_max=3, max_lateness_ms=0, on_lost_worker="skip", body_cap=0, redirects_max=2,
    accept_codes=(200, 404), condition="status_code == 200", confirm="2 within 10s",
    retry=RetryPolicy(attempts=4, delay_ms=300_000, on=("timeout",)),
)  # fmt: skip
NAMES = (
    "true",
    "null",
    "123",
    "1.5",
    "- a",
    "a: b",
    "# x",
    "ünï",
    "~",
    "{",
    "@daily",
    "0x1F",
    "'",
    '"',
    "yes",
    "<<",
    "=",
)


async def everything(desk: Desk) -> object:
    jobs = await desk.stores.endpoints.jobs(desk.tenant_id)
    return jobs, await desk.stores.endpoints.endpoints(desk.tenant_id, EndpointFilter(limit=10_000))


async def test_defaults_are_left_out(desk: Desk) -> None:
    await add_endpoint(desk, a_config("health", "https://example.com/", interval_ms=30_000))

    assert as_yaml(await export_documents(desk)) == (
        "source: null\nendpoints:\n  health:\n    url: https://example.com/\n    every: 30s\n"
    )


async def test_every_source_has_its_own_document_in_a_stable_order(desk: Desk) -> None:
    await add_job(desk, "idle")
    for file in ("b.yaml", "a.yaml"):
        await apply(
            desk, f"endpoints: {{{file[0]}2: &e {{url: 'https://x.org/', every: 1m}}, {file[0]}1: *e}}", file=file
        )

    assert as_yaml(await export_documents(desk)) == (
        "---\nsource: null\njobs:\n  idle: {}\n"
        "---\nsource: a\nendpoints:\n"
        "  a1:\n    url: https://x.org/\n    every: 1m\n  a2:\n    url: https://x.org/\n    every: 1m\n"
        "---\nsource: b\nendpoints:\n"
        "  b1:\n    url: https://x.org/\n    every: 1m\n  b2:\n    url: https://x.org/\n    every: 1m\n"
    )
    assert [document["source"] for document in await export_documents(desk, "b")] == ["b"]


async def test_every_feature_and_every_awkward_name_survives(desk: Desk) -> None:
    await add_endpoint(desk, FULL)
    for name in NAMES:
        said = {"job": name, "description": name, "body": name, "headers": (Header("X", name),)}
        await add_endpoint(desk, a_config(name, "https://example.com/", interval_ms=60_000, **said))
    before = await everything(desk)

    report = await apply(desk, as_yaml(await export_documents(desk)), prune=True)

    assert report.steps == ()
    assert await everything(desk) == before


async def test_export_of_nothing_is_nothing(desk: Desk) -> None:
    assert as_yaml(await export_documents(desk)) == ""


async def test_a_thousand_endpoints_are_applied_exported_and_applied_again_in_seconds(desk: Desk) -> None:
    random = Random(7)
    lines = ["jobs: {a: {description: A}, b: {}, c: {}}", "endpoints:"]
    for number in range(1_000):
        schedule = random.choice(["every: 30s", "every: 1h30m", "cron: H 3 * * *\n    timezone: Europe/Berlin"])
        lines += [f"  endpoint {number}:", f"    url: https://example.com/{number}", f"    {schedule}"]
        lines += [f"    job: {random.choice('abc')}", "    headers: {Accept: text/plain, X-Key: '${env:TOKEN}'}"]
        lines += random.sample(
            ["    timeout: 5s", "    method: POST", "    body: '{}'", "    misfire: skip", "    jitter: 1s"], 2
        )
    started = time.perf_counter()

    first = await apply(desk, "\n".join(lines))
    before = await everything(desk)
    second = await apply(desk, as_yaml(await export_documents(desk)), prune=True)

    assert first.counts["created"] == 1_003
    assert second.steps == ()
    assert second.unchanged == 1_003
    assert await everything(desk) == before
    assert time.perf_counter() - started < 120  # some 5 s alone on a core; what this guards against is minutes


def test_what_a_document_says_can_leave_the_process_that_reads_it() -> None:
    """A server reads documents in another process, and gets them pickled."""
    text = b"endpoints: {gift: {url: 'https://example.com/', at: '2999-12-24T18:00:00Z', retry: {attempts: 4}}}"

    read = pickle.loads(pickle.dumps(parse_documents([("shop.yaml", text)])))

    assert read.faults == []
    assert read.wanted["endpoints"]["gift"].entry.sent()["retry"] == {"attempts": 4}
