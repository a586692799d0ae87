"""Rules: conditions on responses and their actions. Checked before they are stored, tested on recorded runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.context import Context
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.fields import Cursor, DryRun, Limit
from mainspring.api.models.requests import DraftRequest, RuleNew, RulePatch, RulesGiven
from mainspring.api.problems import HttpProblem, pointer_of
from mainspring.domain.errors import Conflict, InvalidInput
from mainspring.domain.rules.rule import rule_document
from mainspring.operations import rules
from mainspring.operations.context import Desk
from mainspring.operations.planner import HOW_TO_ADD_A_MODEL
from mainspring.ports.planner import RuleRevision
from mainspring.views.rule import RulesChecked, RulesDrafted, RulesTested, RuleView, RunTested
from mainspring.views.view import Deleted, DryRunOf, PageOf

router = APIRouter(prefix="/rules", tags=["rules"])
RuleRef = Annotated[str, Path(alias="rule_id", max_length=200, description="Id of a rule.", examples=["rule_0197..."])]
OfEndpoint = Annotated[str | None, Query(max_length=1_000, description="Rules of this endpoint: its id or name.")]
OfJob = Annotated[str | None, Query(max_length=1_000, description="Rules of this whole job: its id or name.")]


@router.get("")
async def list_rules(
    desk: Reading, endpoint: OfEndpoint = None, job: OfJob = None, limit: Limit = 50, cursor: Cursor = None
) -> PageOf[RuleView]:
    """Rules in the order in which they were written, with when each last fired and its current error."""
    if endpoint is None and job is None:
        found = await desk.stores.planner.rules(desk.tenant_id)
    else:
        found = await rules.rules_of(desk, await rules.find_owner(desk, endpoint, job))
    place = open_cursor(desk, "rules", cursor)
    seen = next((at + 1 for at, each in enumerate(found) if place and each.stored.id == place[0]), 0)
    page = found[seen : seen + limit]
    more = seal_cursor(desk, "rules", page[-1].stored.id) if len(found) > seen + limit else None
    return PageOf(items=[RuleView.of(each) for each in page], next_cursor=more)


@router.post("", status_code=201, responses={200: {"model": DryRunOf[RuleView]}})
async def create_rule(
    desk: Writing, wish: RuleNew, response: Response, dry_run: DryRun = False
) -> RuleView | DryRunOf[RuleView]:
    """Add a rule to an endpoint or a job. It judges runs that finish from now on."""
    owner = await _owner(desk, wish.endpoint, wish.job)
    with _pointing_at("/rule"):
        (stored,) = await rules.add_rules(rules.dry_run_of(desk) if dry_run else desk, owner, [wish.rule])
    made = RuleRevision(stored, owner.name or "", {})
    if dry_run:
        response.status_code = 200
        return _compared(None, made)
    response.headers["ETag"] = _etag(made)
    response.headers["Location"] = f"/api/v1/rules/{stored.id}"
    return RuleView.of(made)


@router.post("/check")
async def check_rules(desk: Reading, wish: RulesGiven) -> RulesChecked:
    """Check rules without adding them: syntax, types, names, bounds. Each error is returned with its position.

    Without an endpoint or a job, names of siblings and targets are accepted as given.
    """
    is_loose = wish.endpoint is None and wish.job is None
    owner = None if is_loose else await _owner(desk, wish.endpoint, wish.job)
    with _pointing_at("/rules"):
        documents = wish.rules or []
        if owner is None:
            checked = await rules.check_loose_rules(documents)
        else:
            checked = await rules.check_rules(documents, owner)
    return RulesChecked.model_validate({"rules": [rule_document(rule) for rule in checked]})


@router.post("/test")
async def test_rules(desk: Reading, wish: RulesGiven) -> RulesTested:
    """Replay the newest recorded runs of the job with given or stored rules. Nothing is changed."""
    owner = await _owner(desk, wish.endpoint, wish.job)
    if wish.rules is None:
        chosen = [known.stored.rule for known in await rules.rules_of(desk, owner)]
    else:
        with _pointing_at("/rules"):
            chosen = await rules.check_rules(wish.rules, owner)
    tested = await rules.try_rules(desk, owner, chosen, wish.limit)
    fired = {rule.name: sum(rule.name in each.fired for each in tested) for rule in chosen}
    names = sorted({each.endpoint for each in tested})
    return RulesTested(runs=[RunTested.of(each) for each in tested], fired=fired, endpoints=names)


@router.post("/draft")
async def draft_rules(desk: Running, wish: DraftRequest, request: Request) -> RulesDrafted:
    """Draft rules from an endpoint's description with the model, including a back-test. Nothing is added.

    The request takes as long as the model does. Without a model: 409, and how to add one.
    """
    context: Context = request.app.state.context
    owner = await rules.find_owner(desk, wish.endpoint, None)
    if context.drafter is None:
        raise Conflict(f"no model is configured; {HOW_TO_ADD_A_MODEL}", kind="model", name="")
    return RulesDrafted.of(await context.drafter(desk, owner), owner.name or "")


@router.get("/{rule_id}")
async def read_rule(desk: Reading, rule: RuleRef, response: Response) -> RuleView:
    known, _ = await rules.find_rule(desk, rule)
    response.headers["ETag"] = _etag(known)
    return RuleView.of(known)


@router.patch("/{rule_id}")
async def update_rule(
    desk: Writing,
    rule: RuleRef,
    wish: RulePatch,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> RuleView | DryRunOf[RuleView]:
    """A JSON merge patch of `rule`: missing fields stay unchanged, null removes a field.

    The count of consecutive runs restarts; the cooldown continues.
    """
    known, _ = await rules.find_rule(desk, rule)
    refuse_other(if_match, _etag(known), "rule", known.stored.rule.name)
    with _pointing_at("/rule"):
        edited = await rules.edit_rule(rules.dry_run_of(desk) if dry_run else desk, rule, wish.rule)
    if dry_run:
        return _compared(known, edited)
    response.headers["ETag"] = _etag(edited)
    return RuleView.of(edited)


@router.delete("/{rule_id}")
async def delete_rule(
    desk: Writing, rule: RuleRef, if_match: IfMatch = None, dry_run: DryRun = False
) -> Deleted | DryRunOf[RuleView]:
    """Remove a rule. Its hints stay until they expire."""
    known, owner = await rules.find_rule(desk, rule)
    refuse_other(if_match, _etag(known), "rule", known.stored.rule.name)
    await rules.remove_rules(rules.dry_run_of(desk) if dry_run else desk, owner, [rule])
    return _compared(known, None) if dry_run else Deleted(id=rule, name=known.stored.rule.name)


async def _owner(desk: Desk, endpoint: str | None, job: str | None) -> rules.RuleOwner:
    if (endpoint is None) == (job is None):
        raise InvalidInput("neither or both of endpoint and job were given; give one of them", field="endpoint")
    return await rules.find_owner(desk, endpoint, job)


@contextmanager
def _pointing_at(place: str) -> Iterator[None]:
    """Points errors of a rule's keys to where the rule was sent."""
    try:
        yield
    except rules.InvalidRules as fault:
        sent_as = "/rules" if place == "/rules" else "/rules/0"  # a single rule, or a list
        errors = [
            {"pointer": place + pointer_of(each.path).removeprefix(sent_as), "detail": each.message}
            for each in fault.faults
        ]
        raise HttpProblem("invalid-input", str(fault), errors=errors) from None


def _etag(known: RuleRevision) -> str:
    return f'"{sha256(msgspec.json.encode(known.stored.rule)).hexdigest()[:16]}"'


def _compared(before: RuleRevision | None, after: RuleRevision | None) -> DryRunOf[RuleView]:
    old = None if before is None else RuleView.of(before)
    new = None if after is None else RuleView.of(after)
    return DryRunOf[RuleView].of(old, new)
