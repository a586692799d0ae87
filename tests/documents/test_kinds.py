"""Endpoints of every kind in documents, on both databases."""

import json

import pytest

from mainspring.documents.export import export_documents
from mainspring.documents.yaml_writer import as_yaml
from mainspring.operations.context import Desk
from tests.documents.texts import apply, faults
from tests.kind_samples import SAMPLES


@pytest.mark.parametrize("kind", SAMPLES)
async def test_export_of_each_kind_applied_again_changes_nothing(desk: Desk, kind: str) -> None:
    await apply(desk, json.dumps({"endpoints": {"it": SAMPLES[kind] | {"every": "5m"}}}))
    written = as_yaml(await export_documents(desk))
    report = await apply(desk, written)

    assert f"  it:\n    kind: {kind}\n" in written
    assert (report.steps, report.unchanged) == ((), 1)


async def test_change_of_the_kind_is_shown_field_by_field(desk: Desk) -> None:
    await apply(desk, "endpoints: {it: {url: 'https://example.com/', every: 5m, headers: {X-Token: s3cret}}}")
    report = await apply(desk, "endpoints: {it: {kind: tcp, host: db, port: 1, every: 5m}}")

    (step,) = report.steps
    changes = {each.field: (each.before, each.after) for each in step.fields}
    assert (changes["kind"], changes["host"], changes["url"]) == (
        ("http", "tcp"),
        (None, "db"),
        ("https://example.com/", None),
    )


async def test_faults_of_kinds_are_told_where_they_are(desk: Desk) -> None:
    text = """\
    endpoints:
      a: {kind: tpc, every: 5m}
      b: {kind: tcp, host: db, every: 5m}
      c: {kind: tcp, host: db, port: 1, every: 5m, method: POST, headers: {A: b}}
      d: {read: true, every: 5m}
    """

    assert await faults(desk, text) == [
        "2:13 unknown kind 'tpc', did you mean 'tcp'?; choose one of "
        + (await faults(desk, text))[0].rpartition("choose one of ")[2],
        "3:3 no port for 'b'; an endpoint of kind tcp needs one: give port",
        "4:56 method belongs to kind http, and 'c' is of kind tcp; leave method out, or choose kind http",
        "4:71 headers belongs to kind http and queue, and 'c' is of kind tcp; leave headers out, or choose kind "
        "http or queue",
        "5:3 no url for 'd'; an endpoint of kind http needs one: give url, or `kind` if another one is meant (read "
        "belongs to kind tcp)",
        "5:13 read belongs to kind tcp, and 'd' is of kind http; leave read out, or choose kind tcp",
    ]
