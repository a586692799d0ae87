"""Turn advice into a proposal, and apply a person's decision about it. Pure.

An approved proposal is applied like advice in mode `live`, with the authority of its author and the limits at the time
of approval: if a person set a pause or a hint meanwhile, that wins and the proposal stays pending. The validity of a
hint starts with the approval.
"""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from mainspring.domain.advice.authority import check_reach
from mainspring.domain.advice.proposal import (
    VALID_MAX,
    ProposalState,
    StoredProposal,
    advised_by,
    make_proposal,
    no_longer_pending,
)
from mainspring.domain.advice.step_hint import apply_step, reason_of, step_in_words, ttl_of
from mainspring.domain.endpoint import Endpoint
from mainspring.domain.errors import Conflict
from mainspring.domain.instant import rfc3339
from mainspring.domain.model.tools import Proposal, apply_proposal, proposal_in_words
from mainspring.domain.rules.apply import ASK, LIVE, MODES, act_on, same_but_for_time
from mainspring.domain.rules.rule import Rule
from mainspring.domain.schedule.changes import Change
from mainspring.domain.schedule.governor import CronReader
from mainspring.domain.text import clean_text

NOTE_MAX = 1_000
STEP = "hint"


def propose_for_model(
    wanted: Proposal,
    endpoint: Endpoint,
    now: datetime,
    author: str,
    session_id: str,
    floor_ms: int,
    cron: CronReader,
    subject_id: str = "",
) -> Change:
    """Returns the endpoint unchanged, with the model's advice as a proposal; without a proposal if nothing would
    change.

    `subject_id` is the endpoint that the session is about.
    """
    after = apply_proposal(wanted, endpoint, now, author, floor_ms, cron)
    valid = wanted.ttl or (VALID_MAX if wanted.at is None else wanted.at - now)
    unsaid = msgspec.to_builtins(Proposal("", ""))
    arguments = {name: value for name, value in msgspec.to_builtins(wanted).items() if value != unsaid[name]}
    arguments = advised_by("" if subject_id == endpoint.id else subject_id, arguments)
    does, whom = proposal_in_words(wanted), (endpoint.tenant_id, endpoint.id)
    new = make_proposal(whom, author, wanted.tool, arguments, does, wanted.reason, session_id, now, valid)
    return _unless_in_force(endpoint, after, new)


def propose_for_step(
    wanted: dict[str, object], endpoint: Endpoint, now: datetime, execution_id: str, cron: CronReader
) -> Change:
    author = f"execution:{execution_id}"
    after = apply_step(wanted, endpoint, now, author, cron)
    valid = VALID_MAX if wanted.get("clear") else ttl_of(wanted)
    does, whom = step_in_words(wanted), (endpoint.tenant_id, endpoint.id)
    new = make_proposal(whom, author, STEP, wanted, does, reason_of(wanted), execution_id, now, valid)
    return _unless_in_force(endpoint, after, new)


def approve(
    proposal: StoredProposal,
    endpoint: Endpoint,
    mode: str,
    now: datetime,
    actor: str,
    floor_ms: int,
    cron: CronReader,
    subject: Endpoint | None = None,
) -> Change:
    """Returns the endpoint after the proposal, and the approved proposal. `floor_ms` is the tenant's minimum interval.

    `subject` is the endpoint that gave the advice, if that is a sibling: its owner may have changed its permissions.
    """
    _check_pending(proposal, now)
    if proposal.subject_id:
        _check_subject(proposal, endpoint, subject)
    if MODES.index(mode) > MODES.index(ASK):
        raise Conflict(
            f"the planner mode of {endpoint.name!r} is {mode}, in which nothing is applied; set it to {ASK} "
            f"or {LIVE} and wait for a new proposal, or change the endpoint yourself",
            kind="proposal",
            name=proposal.id,
        )
    if not endpoint.can_run:
        raise Conflict(
            f"endpoint {endpoint.name!r} is archived or parked, or its job is not active; resume it first, "
            "or reject the proposal",
            kind="endpoint",
            name=endpoint.name,
        )
    change = _applied(proposal, endpoint, now, floor_ms, cron)
    decided = replace(proposal, state=ProposalState.APPROVED, decided_at=now, decided_by=actor)
    return replace(change, proposals=(decided,))


def reject(proposal: StoredProposal, endpoint: Endpoint, now: datetime, actor: str, reason: str) -> Change:
    _check_pending(proposal, now)
    note = clean_text(reason.strip(), NOTE_MAX)
    decided = replace(proposal, state=ProposalState.REJECTED, decided_at=now, decided_by=actor, note=note)
    return Change(endpoint, proposals=(decided,))


def _check_subject(proposal: StoredProposal, endpoint: Endpoint, subject: Endpoint | None) -> None:
    if subject is None or subject.archived_at is not None:
        raise Conflict(
            "the endpoint that gave this advice was archived or deleted; reject the proposal, or change "
            f"{endpoint.name!r} yourself",
            kind="proposal",
            name=proposal.id,
        )
    check_reach(subject, endpoint.id)


def _applied(proposal: StoredProposal, endpoint: Endpoint, now: datetime, floor_ms: int, cron: CronReader) -> Change:
    match proposal.action:
        case "rule":
            return act_on(msgspec.convert(proposal.arguments, Rule), endpoint, now, cron)
        case "hint":
            return apply_step(proposal.arguments, endpoint, now, proposal.author, cron)
        case _:
            wanted = msgspec.convert(proposal.arguments, Proposal)
            return apply_proposal(wanted, endpoint, now, proposal.author, floor_ms, cron)


def _unless_in_force(endpoint: Endpoint, after: Change, new: StoredProposal) -> Change:
    is_so = same_but_for_time(endpoint, after.endpoint) or not endpoint.can_run
    return Change(endpoint, proposals=() if is_so else (new,))


def _check_pending(proposal: StoredProposal, now: datetime) -> None:
    state = proposal.state_at(now)
    if state is ProposalState.PENDING:
        return
    at = proposal.expires_at if state is ProposalState.EXPIRED else proposal.decided_at
    raise no_longer_pending(proposal.id, f"{state} since {rfc3339(at or proposal.expires_at)}")
