"""Every fault of a file at once, each where it stands, with the nearest name and the way out."""

from mainspring.operations.context import Desk
from tests.documents.texts import apply, faults


async def test_typo_in_line_8_is_reported_at_line_8_with_the_right_suggestion(desk: Desk) -> None:
    text = """\
    jobs:
      billing:
        description: Money
    endpoints:
      invoices:
        url: https://example.com/invoices
        job: billing
        evry: 30s
    """

    assert await faults(desk, text) == ["8:5 unknown key 'evry', did you mean 'every'?"]


async def test_all_faults_are_told_in_the_order_of_the_file(desk: Desk) -> None:
    text = """\
    jobs:
      billing: {descripton: x}
    endpoints:
      a:
        url: ftp://x
        timeout: 10x
        cron: '61 * * * *'
      b:
        url: https://example.com/
        every: 30s
        cron: '@daily'
        method: GETT
        headers: {Host: x}
        accept_codes: [99]
      c: 5
      d: {every: true}
      e: {url: https://example.com/}
    endpoint: {}
    """

    assert [fault.partition(" ")[0] for fault in await faults(desk, text)] == [
        "2:13", "5:10", "6:14", "7:11", "11:11", "12:13", "13:21", "14:19", "15:6", "16:3", "16:14", "17:3", "18:1",
    ]  # fmt: skip


async def test_cron_whose_times_are_further_apart_than_its_maximum_is_refused(desk: Desk) -> None:
    text = "endpoints: {a: {url: 'https://example.com/', cron: '0 2 * * *', max_interval: 1h}}"

    (fault,) = await faults(desk, text)

    assert "above max_interval 1h" in fault
    assert "leave it out, or give an interval in place of the cron" in fault


async def test_words_of_common_faults(desk: Desk) -> None:
    assert await faults(desk, "endpoints: {a: {url: 'https://example.com/'}}") == [
        "1:13 'a' has no schedule; give it `every: 5m`, `cron: '0 3 * * *'` or `at`"
    ]
    assert await faults(desk, "endpoints: {a: {url: 5, every: 1m}}") == [
        "1:22 url is a number; it must be text: put it in quotes"
    ]
    assert await faults(desk, "endpoints: {a: }") == [
        "1:13 no url for 'a'; an endpoint of kind http needs one: give url",
        "1:13 'a' has no schedule; give it `every: 5m`, `cron: '0 3 * * *'` or `at`",
    ]
    assert await faults(desk, "endpoints: [a]") == ["1:12 endpoints are given by name: `endpoints: {NAME: ...}`"]
    assert await faults(desk, "[1]") == [
        "1:1 a document is a mapping with source, connections, calendars, jobs, endpoints, maintenance, alerts, "
        "webhooks, workflows, and this is a list"
    ]
    assert await faults(desk, "hello: 1") == [
        "1:1 unknown key 'hello'; known keys are source, connections, calendars, jobs, endpoints, maintenance, "
        "alerts, webhooks, workflows"
    ]
    assert await faults(desk, "source: 5") == [
        "1:9 configuration source '5' is not text; a name is text: put it in quotes"
    ]


async def test_fault_in_a_merged_mapping_is_told_where_it_is_written(desk: Desk) -> None:
    text = """\
    x-defaults: &defaults
      timeout: 1h
    endpoints:
      a:
        <<: *defaults
        url: https://example.com/
        every: 1m
    """

    assert await faults(desk, text) == ["2:12 timeout 3600000 ms is out of bounds; give 1ms to 10m"]


async def test_anchors_may_lie_under_a_key_of_their_own(desk: Desk) -> None:
    text = """\
    x-defaults: &defaults {timeout: 10s, every: 1m}
    endpoints:
      a: {<<: *defaults, url: https://example.com/a}
      b: {<<: *defaults, url: https://example.com/b, every: 5m}
    """

    assert (await apply(desk, text)).counts["created"] == 3


async def test_one_name_in_two_documents_is_refused(desk: Desk) -> None:
    one = "endpoints: {a: {url: 'https://example.com/', every: 1m}}\n"

    assert await faults(desk, f"{one}---\n{one}") == ["3:13 'a' is described twice; the first time at shop.yaml:1:13"]


async def test_empty_document_changes_nothing(desk: Desk) -> None:
    assert (await apply(desk, "")).steps == ()
    assert (await apply(desk, "# nothing\n---\nendpoints:\n")).steps == ()


async def test_names_are_checked_like_everywhere(desk: Desk) -> None:
    assert await faults(desk, 'endpoints: {"a\\u202e": {url: "https://example.com/", every: 1m}}') == [
        "1:13 endpoint name 'a\\u202e' contains a text direction control (U+202E); a name is one line of visible text: "
        "remove it"
    ]


async def test_fault_in_a_group_of_settings_is_told_where_it_stands(desk: Desk) -> None:
    text = """\
    endpoints:
      nightly:
        url: https://example.com/
        cron: 0 3 * * *
        retry:
          attempts: 99
      hourly:
        url: https://example.com/
        every: 1h
        retry: {tries: 3}
        confirm: often
    """

    assert await faults(desk, text) == [
        "6:17 retry: attempts 99 is out of bounds; give 1 to 10",
        "10:13 unknown key 'tries'; known keys are attempts, delay, factor, max_delay, on",
        "11:14 confirm 'often' is not understood; it says how often a failing check is made, and within how long: "
        "write it as 3 within 20s",
    ]


async def test_item_of_a_list_in_a_group_is_named_in_its_fault(desk: Desk) -> None:
    text = """\
    endpoints:
      nightly: {url: "https://example.com/", cron: 0 3 * * *, retry: {on: timeouts}}
    """

    assert await faults(desk, text) == [
        "2:71 on 'timeouts' is not one of timeout, connect, 5xx, rate_limit, 4xx, condition, other, did you mean "
        "'timeout'?"
    ]


async def test_delay_of_a_single_run_is_refused_in_a_document(desk: Desk) -> None:
    text = """\
    endpoints:
      later: {url: "https://example.com/", at: in 10m}
      both: {url: "https://example.com/", at: 2030-01-31T08:00:00Z, every: 5m}
    """

    assert await faults(desk, text) == [
        "2:44 at of 'later' is a delay, which would start again with every apply; give the time itself",
        "3:43 'both' has both `every` and `at`; keep one of them",
    ]
