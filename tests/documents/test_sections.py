"""Rules, alerts, webhooks and workflows as code: made, changed, kept, exported and pruned like jobs and endpoints."""

from textwrap import dedent

import pytest
from msgspec.structs import replace

from mainspring.documents.export import export_documents
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.event import EventType
from mainspring.domain.notify.subscription import SubscriptionKind, Webhook
from mainspring.domain.rules.apply import RuleState
from mainspring.domain.rules.judge import Decisions
from mainspring.operations.context import Desk
from mainspring.operations.subscriptions import list_subscriptions
from mainspring.operations.workflow_archive import archive_workflow
from mainspring.operations.workflows import publish_workflow
from mainspring.ports.planner import RuleRevision
from tests.documents.texts import apply, faults, told
from tests.stores.world import FixedClock

SECRET = "whsec_" + "QUJD" * 8
ENVIRONMENT = {"CHAT": "https://chat.example.com/hooks/s3cret-path", "HOOK": SECRET, "NEXT": "whsec_" + "REVG" * 8}
SHOP = """\
source: shop
jobs:
  shop:
    description: The shop
    rules:
      - {name: calm, when: "failures > 3", clear_hints: true}
endpoints:
  traffic:
    job: shop
    url: https://shop.example.com/traffic
    every: 1m
    rules:
      - when: body.visitors >= 5000
        for: 2
        interval: 20s
        ttl: 10m
        reason: surge
      - {name: wake, when: body.slow, run: now, target: trace, cooldown: 10m}
  trace:
    job: shop
    url: https://shop.example.com/trace
    every: 1h
alerts:
  ops:
    to: [ops@example.com, "${env:CHAT}"]
    kinds: [failing, late]
    endpoint: traffic
    cooldown: 10m
    quiet: 22:00-07:00
    timezone: Europe/Berlin
webhooks:
  audit:
    url: https://audit.example.com/hook
    types: [run.*]
    secret: ${env:HOOK}
workflows:
  follow-up:
    input: {email: text, since: {type: text, default: 2026-01-01}}
    steps:
      - {id: thank, email: {to: "{{ input.email }}", subject: Thanks, body: "Hello\\nthere"}}
      - {id: rest, wait: 3d}
"""


async def put(desk: Desk, text: str = SHOP, **how: bool) -> list[str]:
    return told(await apply(desk, text, environment=ENVIRONMENT, **how))  # type: ignore[arg-type]  # flags


async def rules(desk: Desk) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for known in await desk.stores.planner.rules(desk.tenant_id):
        found.setdefault(known.owner or "(job)", []).append(known.stored.rule.name)
    return found


async def rule(desk: Desk, name: str) -> RuleRevision:
    return next(each for each in await desk.stores.planner.rules(desk.tenant_id) if each.stored.rule.name == name)


async def everything(desk: Desk) -> object:
    stores, tenant = desk.stores, desk.tenant_id
    return (
        await stores.planner.rules(tenant),
        await stores.subscriptions.subscriptions(tenant, None),
        await stores.flows.workflows.versions(tenant, "follow-up"),
        await stores.configuration.workflow_sources(tenant),
        await stores.endpoints.jobs(tenant),
    )


async def test_everything_is_made_once_and_applied_again_changes_nothing(desk: Desk) -> None:
    steps = await put(desk)

    assert [step.split(" ", 3)[:3] for step in steps] == [
        ["create", "job", "shop"], ["create", "endpoint", "traffic"], ["create", "endpoint", "trace"],
        ["create", "alert", "ops"], ["create", "webhook", "audit"], ["create", "workflow", "follow-up"],
    ]  # fmt: skip
    assert await rules(desk) == {"(job)": ["calm"], "traffic": ["rule-1", "wake"]}
    before = await everything(desk)
    assert await put(desk) == []
    assert await everything(desk) == before


async def test_export_applied_with_prune_is_the_identity(desk: Desk) -> None:
    await put(desk)
    await publish_workflow(desk, "name: by-hand\nsteps: [{id: rest, wait: 1h}]\n")
    before = await everything(desk)

    text = as_yaml(await export_documents(desk))
    report = await apply(desk, text, prune=True, environment={})

    assert told(report) == []
    assert await everything(desk) == before
    assert "s3cret-path" not in text
    assert SECRET not in text
    assert as_yaml(await export_documents(desk)) == text


TRIGGERED = """\
workflows:
  surge:
    input: {depth: integer}
    on:
      - run: {endpoint: billing, status: [failure, timeout]}
        where: event.body.depth > 10
        input: {depth: "{{ event.body.depth }}"}
        correlation: "{{ event.endpoint }}"
      - alert: {kind: recovered}
        send: {event: recovered, to: "{{ event.endpoint }}", data: {calm: true}}
      - rule: busy
        input: {depth: 1}
    steps:
      - {id: rest, wait_for: {event: recovered, timeout: 3d}}
"""


async def test_triggers_of_a_workflow_are_applied_exported_and_applied_again_without_change(desk: Desk) -> None:
    first = await put(desk, TRIGGERED)
    text = as_yaml(await export_documents(desk))
    again = [await put(desk, TRIGGERED), await put(desk, text), await put(desk, text, prune=True)]

    (published,) = await desk.stores.flows.workflows.versions(desk.tenant_id, "surge")
    assert [step.split(" ", 3)[:3] for step in first] == [["create", "workflow", "surge"]]
    assert [(each.source, each.event) for each in published.workflow.triggers] == [
        ("run", ""), ("alert", "recovered"), ("rule", ""),
    ]  # fmt: skip
    assert again == [[], [], []]
    assert as_yaml(await export_documents(desk)) == text


async def test_changed_trigger_is_a_new_version(desk: Desk) -> None:
    await put(desk, TRIGGERED)
    (step,) = await put(desk, TRIGGERED.replace("depth > 10", "depth > 20"))

    assert step.startswith("change workflow surge")
    assert len(await desk.stores.flows.workflows.versions(desk.tenant_id, "surge")) == 2


async def test_nothing_of_it_is_written_by_a_dry_run(desk: Desk) -> None:
    assert len(await put(desk, dry_run=True)) == 6
    assert await everything(desk) == ([], [], [], {}, [])


async def test_prune_deletes_alerts_and_webhooks_and_keeps_workflows_without_their_mark(desk: Desk) -> None:
    await put(desk)

    report = await apply(desk, "source: shop\n", prune=True)

    assert [step.partition(" managed_by")[0] for step in told(report)] == [
        "change workflow follow-up", "delete webhook audit", "delete alert ops",
        "archive endpoint trace", "archive endpoint traffic", "archive job shop",
    ]  # fmt: skip
    assert await desk.stores.subscriptions.subscriptions(desk.tenant_id, None) == []
    assert await desk.stores.configuration.workflow_sources(desk.tenant_id) == {}
    assert report.notes == (
        "workflow 'follow-up' is kept although no document describes it, because its versions are kept",
    )
    assert told(await apply(desk, "source: shop\n", prune=True)) == []


async def test_changed_rule_keeps_its_cooldown_and_left_out_ones_go(desk: Desk) -> None:
    await put(desk)
    wake = await rule(desk, "wake")
    fired_at = await desk.stores.schedule.now()
    page = await desk.stores.planner.next_page(1)
    assert page is not None
    remembered = {(wake.stored.id, "x"): RuleState(3, fired_at, "")}
    assert await desk.stores.planner.commit_page(page, Decisions((), remembered, ()))
    without_first = SHOP.replace("10m}", "20m}").replace(
        SHOP[SHOP.index("      - when: body.visitors") : SHOP.index("      - {name: wake")], ""
    )

    steps = await put(desk, without_first)

    (step,) = steps
    assert step.startswith("change endpoint traffic rules.rule-1:{'when'")
    assert "rules.wake:" in step
    assert await rules(desk) == {"(job)": ["calm"], "traffic": ["wake"]}
    kept = await rule(desk, "wake")
    assert kept.stored.id == wake.stored.id
    assert kept.stored.rule.cooldown_ms == 1_200_000
    assert kept.states == {"x": RuleState(0, fired_at, "")}


async def test_rules_that_an_entry_says_nothing_about_stay_until_it_does_or_they_are_pruned(desk: Desk) -> None:
    rule = "{name: calm, when: ok, clear_hints: true}"
    jobs, endpoint = "jobs: {j: {%s}}\n", "endpoints: {a: {job: j, url: 'https://example.com/', every: 1m%s}}"
    await put(desk, jobs % f"rules: [{rule}]" + endpoint % f", rules: [{rule}]")

    silent = await apply(desk, jobs % "" + endpoint % "")
    would = await apply(desk, jobs % "" + endpoint % "", prune=True, dry_run=True)
    exported = await apply(desk, as_yaml(await export_documents(desk)), prune=True)
    none = await put(desk, jobs % "" + endpoint % ", rules: []")
    pruned = await apply(desk, jobs % "" + endpoint % "", prune=True)

    removed = "rules.calm:{'when': 'ok', 'clear_hints': True}>None"
    fix = "add them to the document, or remove them with `rules: []` or --prune"
    way_out = f"keeps 1 rule that its entry does not describe; {fix}"
    assert (silent.steps, silent.notes) == ((), (f"job 'j' {way_out}", f"endpoint 'a' {way_out}"))
    assert told(would) == [f"change job j {removed}", f"change endpoint a {removed}"]
    assert exported.steps == ()
    assert none == [f"change endpoint a {removed}"]
    assert told(pruned) == [f"change job j {removed}"]
    assert await rules(desk) == {}


async def test_entry_of_an_archived_workflow_notes_that_it_stays_so_until_it_says_something_new(desk: Desk) -> None:
    entry = "workflows: {follow-up: {steps: [{id: a, wait: %s}]}}"
    await put(desk, entry % "3d")
    await archive_workflow(desk, "follow-up")

    same = await apply(desk, entry % "3d")
    other = await apply(desk, entry % "4d")

    assert same.notes == (
        "workflow 'follow-up' stays archived, because its entry did not change; "
        "`mainspring workflow restore follow-up` restores it",
    )
    assert other.notes == ()


async def test_order_of_rules_is_the_order_of_the_document(desk: Desk, clock: FixedClock) -> None:
    one = "endpoints: {a: {url: 'https://example.com/', every: 1m, rules: [%s]}}"
    b, c, d = (f"{{name: {name}, when: ok, clear_hints: true}}" for name in "bcd")
    await put(desk, one % f"{b}, {c}")
    clock.tick(seconds=1)

    assert await put(desk, one % f"{d}, {c}, {b}") == [
        "change endpoint a rules.d:None>{'when': 'ok', 'clear_hints': True}"
    ]
    assert await rules(desk) == {"a": ["d", "c", "b"]}
    assert await put(desk, one % f"{b}, {c}, {d}") == ["change endpoint a rules:['d', 'c', 'b']>['b', 'c', 'd']"]
    assert await rules(desk) == {"a": ["b", "c", "d"]}
    assert await put(desk, one % "") == [
        "change endpoint a" + "".join(f" rules.{n}:{{'when': 'ok', 'clear_hints': True}}>None" for n in "bcd")
    ]
    assert await rules(desk) == {}


async def test_changed_way_and_changed_secret_are_told_without_being_shown(desk: Desk) -> None:
    await put(desk)
    environment = ENVIRONMENT | {"CHAT": "https://chat.example.com/hooks/other", "HOOK": ENVIRONMENT["NEXT"]}

    report = await apply(desk, SHOP, environment=environment)

    assert told(report) == [
        "change alert ops to:(secret)>(another secret)",
        "change webhook audit secret:(secret)>(another secret)",
    ]
    (webhook,) = await list_subscriptions(desk, SubscriptionKind.WEBHOOK)
    assert isinstance(webhook.config, Webhook)
    assert len(webhook.config.secrets) == 2


async def test_token_in_the_address_of_a_webhook_is_a_reference_and_never_shown(desk: Desk) -> None:
    hooks = "webhooks: {audit: {url: 'https://audit.example.com/hook?key=${env:KEY}', secret: '${env:HOOK}'}}"
    environment = {"KEY": "first-token", "HOOK": SECRET}

    made = await apply(desk, hooks, environment=environment)
    kept = await apply(desk, as_yaml(await export_documents(desk)), prune=True)
    changed = await apply(desk, hooks, environment={**environment, "KEY": "other-token"})
    again = await apply(desk, hooks, environment={**environment, "KEY": "other-token"})

    assert "https://audit.example.com/hook?••••" in told(made)[0]
    assert (kept.steps, again.steps) == ((), ())
    assert told(changed) == ["change webhook audit url:(secret)>(another secret)"]
    assert await faults(desk, hooks.replace("audit.example.com", "${env:TOKEN}").replace("${env:HOOK}", "")) == [
        "1:25 the part of a url before the `?` is shown; put the reference after it"
    ]


async def test_alert_and_webhook_are_renamed_and_edited(desk: Desk) -> None:
    await put(desk)
    text = SHOP.replace("  ops:\n", "  people:\n    renamed_from: ops\n    failures: 5\n").replace("[run.*]", "[job.*]")

    assert await put(desk, text) == [
        "change alert people failures:None>5",
        "change webhook audit types:['run.*']>['job.*']",
    ]
    assert [each.name for each in await list_subscriptions(desk, SubscriptionKind.ALERT)] == ["people"]


async def test_webhook_that_failures_disabled_stays_so(desk: Desk) -> None:
    await put(desk)
    (webhook,) = await list_subscriptions(desk, SubscriptionKind.WEBHOOK)
    disabled = replace(webhook, enabled=False, disabled_reason="failed for 5 days", version=2)
    event = (await desk.stores.runs.latest_events(desk.tenant_id, 1))[0].event
    await desk.stores.subscriptions.put_subscription(disabled, event)

    assert await put(desk) == []
    assert "enabled" not in as_yaml(await export_documents(desk))
    assert await put(desk, SHOP.replace("types: [run.*]", "types: [run.*]\n    enabled: false")) == [
        "change webhook audit enabled:None>False"
    ]


async def test_workflow_gets_a_version_only_when_it_changed(desk: Desk) -> None:
    await put(desk)

    (step,) = await put(desk, SHOP.replace("wait: 3d", "wait: 4d"))

    assert step.startswith("change workflow follow-up version:1>2 document:None>")
    versions = await desk.stores.flows.workflows.versions(desk.tenant_id, "follow-up")
    assert [each.workflow.version for each in versions] == [2, 1]
    published = [
        each.event.data
        for each in await desk.stores.runs.events_after("", desk.tenant_id, 100)
        if each.event.type is EventType.WORKFLOW_PUBLISHED
    ]
    assert published == [{"workflow": "follow-up", "version": 1}, {"workflow": "follow-up", "version": 2}]


async def test_another_source_may_not_take_them(desk: Desk) -> None:
    await put(desk)
    other = SHOP.replace("source: shop", "source: other")

    refused = await faults_of(desk, other)

    assert [fault.partition(" is managed")[0].partition(" ")[2] for fault in refused] == [
        "job 'shop'", "endpoint 'traffic'", "endpoint 'trace'", "alert 'ops'", "webhook 'audit'",
        "workflow 'follow-up'",
    ]  # fmt: skip
    assert len(await put(desk, other, take_over=True)) == 6
    assert await put(desk, other) == []


async def faults_of(desk: Desk, text: str) -> list[str]:
    with pytest.raises(InvalidDocument) as refused:
        await apply(desk, text, environment=ENVIRONMENT)
    return [f"{fault.place.line}:{fault.place.column} {fault.message}" for fault in refused.value.faults]


async def test_faults_of_rules_stand_where_they_are_written(desk: Desk) -> None:
    text = """\
    endpoints:
      a:
        url: https://example.com/
        every: 1m
        rules:
          - {when: body.x >, interval: 30s}
          - when: ok
            intervall: 30s
          - {when: siblings.bb.ok, run: now, target: b, cooldown: 1m}
          - {when: ok, interval: soon}
          - {name: x, when: ok, clear_hints: true}
          - {name: x, when: ok, clear_hints: true}
          - 5
      b: {url: 'https://example.com/', every: 1m}
    """

    found = await faults(desk, text)

    assert [fault.partition(" ")[0] for fault in found] == ["6:16", "8:9", "9:16", "10:30", "12:16", "13:9"]
    assert found[1] == "8:9 unknown key 'intervall' in a rule, did you mean 'interval'?"
    assert "unknown sibling 'bb', did you mean 'b'?" in found[2]
    assert await rules(desk) == {}


async def test_faults_of_alerts_and_webhooks_are_all_told(desk: Desk) -> None:
    text = """\
    alerts:
      a: {to: nobody, kinds: [failling], failures: 0, quiet: late, endpoint: x}
      b: {}
      c: {to: ['${env:NONE}', 'https://10.0.0.1:99999/'], too: 1}
    webhooks:
      d: {url: 'ftp://x', types: [rum.*], secret: whsec_plain}
      e: {url: 'https://example.com/'}
      f: {url: 'https://example.com/', secret: '${env:TOKEN}'}
    """

    found = await faults(desk, text)

    assert [fault.partition(" ")[0] for fault in found] == [
        "2:11", "2:27", "2:48", "2:58", "2:74", "3:3", "4:12", "4:27", "4:55", "6:12", "6:30", "6:47", "7:3", "8:44",
    ]  # fmt: skip
    assert found[-3] == "6:47 a secret in a document is a reference; write ${env:NAME} or ${file:/path}"
    assert "s3cret" not in "".join(found)


async def test_faults_of_workflows_stand_where_they_are_written(desk: Desk) -> None:
    text = """\
    workflows:
      w:
        stepps: []
        steps:
          - {id: one, wait: 3 moons}
          - id: two
            branch:
              - {when: vars.x >, go: three}
      v: {}
    """

    found = await faults(desk, text)

    assert {fault.partition(":")[0] for fault in found} >= {"3", "5", "9"}
    assert any("did you mean 'steps'?" in fault for fault in found)


async def test_whoever_publishes_meanwhile_makes_it_plan_again(desk: Desk) -> None:
    await put(desk)
    changed = dedent(SHOP).replace("wait: 3d", "wait: 5d")
    await publish_workflow(desk, "name: follow-up\nsteps: [{id: rest, wait: 1h}]\n")

    (step,) = await put(desk, changed)

    assert step.startswith("change workflow follow-up version:2>3")
