"""Lifecycle events: what happened, in order, to what, by whom.

They feed the live view, webhooks, the planner's wake-up and the audit trail. A store writes an event in the transaction
of the change it describes, so an event exists exactly when its change does.
"""

import re
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from mainspring.domain.errors import InvalidInput
from mainspring.domain.name import shown

_CURSOR = re.compile(r"([0-9]{1,19}):([0-9]{1,9})", re.ASCII)
_PLACE_MAX = 2**63 - 1  # maximum integer of both databases


class EventType(StrEnum):
    RUN_STARTED = "run.started"
    RUN_FINISHED = "run.finished"
    RUN_TIMEOUT = "run.timeout"
    RUN_ABANDONED = "run.abandoned"
    RUN_RETRIED = "run.retried"
    RUN_WAITING = "run.waiting"
    RUN_PROGRESS = "run.progress"
    RUN_SUPERSEDED = "run.superseded"
    RUN_MISSED = "run.missed"
    CALLBACK_REFUSED = "callback.refused"
    SCHEDULE_UPDATED = "schedule.updated"
    SCHEDULE_LATE = "schedule.late"
    SCHEDULE_WAITING = "schedule.waiting"
    BACKOFF_APPLIED = "backoff.applied"
    MANUAL_RUN_REQUESTED = "manual_run.requested"
    MANUAL_RUN_STARTED = "manual_run.started"
    HINT_WRITTEN = "hint.written"
    HINT_EXPIRED = "hint.expired"
    HINT_CLEARED = "hint.cleared"
    ADVICE_REFUSED = "advice.refused"
    FAILURES_RESET = "failures.reset"
    ENDPOINT_CREATED = "endpoint.created"
    ENDPOINT_UPDATED = "endpoint.updated"
    ENDPOINT_PAUSED = "endpoint.paused"
    ENDPOINT_RESUMED = "endpoint.resumed"
    ENDPOINT_PARKED = "endpoint.parked"
    ENDPOINT_ARCHIVED = "endpoint.archived"
    ENDPOINT_DELETED = "endpoint.deleted"
    ENDPOINT_FAULTY = "endpoint.faulty"
    COMMAND_REFUSED = "command.refused"
    PING_URL_CREATED = "ping_url.created"
    PING_URL_REVOKED = "ping_url.revoked"
    JOB_CREATED = "job.created"
    JOB_UPDATED = "job.updated"
    JOB_PAUSED = "job.paused"
    JOB_RESUMED = "job.resumed"
    JOB_ARCHIVED = "job.archived"
    CLOCK_STEPPED = "clock.stepped"
    CLOCK_DIFFERS = "clock.differs"
    CLOCK_REPAIRED = "clock.repaired"
    CONFIGURATION_APPLIED = "configuration.applied"
    CONFIGURATION_REFUSED = "configuration.refused"
    QUOTA_DEFERRED = "quota.deferred"
    WORKFLOW_PUBLISHED = "workflow.published"
    WORKFLOW_ARCHIVED = "workflow.archived"
    WORKFLOW_RESTORED = "workflow.restored"
    EXECUTION_STARTED = "execution.started"
    EXECUTION_ORDERED = "execution.ordered"
    EXECUTION_FAILED = "execution.failed"
    EXECUTION_ENDED = "execution.ended"
    EXECUTION_EVENT_IGNORED = "execution.event_ignored"
    EXECUTION_ERASED = "execution.erased"
    EXECUTIONS_LATE = "executions.late"
    EXECUTIONS_ON_TIME = "executions.on_time"
    TRIGGER_REFUSED = "trigger.refused"
    ALERT_FIRED = "alert.fired"
    SIGNING_KEY_CREATED = "signing_key.created"
    SIGNING_KEY_REVOKED = "signing_key.revoked"
    SECRET_KEY_CHANGED = "secret_key.changed"
    LOGIN_SUCCEEDED = "login.succeeded"
    LOGIN_FAILED = "login.failed"
    LOGOUT = "logout"
    USER_CREATED = "user.created"
    USER_UPDATED = "user.updated"
    PASSWORD_SET = "password.set"
    SECOND_FACTOR_CHANGED = "second_factor.changed"
    PASSKEY_ADDED = "passkey.added"
    PASSKEY_REMOVED = "passkey.removed"
    MEMBER_CHANGED = "member.changed"
    MEMBER_INVITED = "member.invited"
    API_KEY_CREATED = "api_key.created"
    API_KEY_REVOKED = "api_key.revoked"
    TENANT_CREATED = "tenant.created"
    QUOTA_CHANGED = "quota.changed"
    DATA_EXPORTED = "data.exported"
    RULES_CHANGED = "rules.changed"
    RULE_FIRED = "rule.fired"
    RULE_FAULTY = "rule.faulty"
    PLANNER_ANALYSED = "planner.analysed"
    PLANNER_MODE_SET = "planner.mode_set"
    PROPOSAL_CREATED = "proposal.created"
    PROPOSAL_APPROVED = "proposal.approved"
    PROPOSAL_REJECTED = "proposal.rejected"
    PROPOSAL_EXPIRED = "proposal.expired"
    PROPOSAL_WITHDRAWN = "proposal.withdrawn"
    WEBHOOK_CREATED = "webhook.created"
    WEBHOOK_UPDATED = "webhook.updated"
    WEBHOOK_DELETED = "webhook.deleted"
    WEBHOOK_DISABLED = "webhook.disabled"
    CONNECTION_CREATED = "connection.created"
    CONNECTION_UPDATED = "connection.updated"
    CONNECTION_DELETED = "connection.deleted"
    CONNECTION_TESTED = "connection.tested"
    CALLS_CREATED = "calls.created"
    ALERT_CREATED = "alert.created"
    ALERT_UPDATED = "alert.updated"
    ALERT_DELETED = "alert.deleted"
    CALENDAR_CREATED = "calendar.created"
    CALENDAR_UPDATED = "calendar.updated"
    CALENDAR_DELETED = "calendar.deleted"
    MAINTENANCE_CREATED = "maintenance.created"
    MAINTENANCE_UPDATED = "maintenance.updated"
    MAINTENANCE_DELETED = "maintenance.deleted"


MEANING: dict[EventType, str] = {
    EventType.RUN_STARTED: "A worker claimed a slot and is calling the endpoint.",
    EventType.RUN_FINISHED: "A run ended; carries its status and the next run with its source.",
    EventType.RUN_TIMEOUT: "A run passed its deadline.",
    EventType.RUN_ABANDONED: "The worker of a run was lost or shut down; the slot is retried, or skipped (at "
    "most once).",
    EventType.RUN_RETRIED: "An attempt failed and does not count; carries its status and the time of the retry.",
    EventType.RUN_WAITING: "The target accepted the call and ends the run by a callback; carries the deadline.",
    EventType.RUN_PROGRESS: "A run that waits for its callback reported progress; carries the new deadline.",
    EventType.RUN_SUPERSEDED: "A result arrived after another worker had taken over the slot; it changed nothing.",
    EventType.RUN_MISSED: "Slots passed while nothing could run them; the misfire policy skipped them.",
    EventType.CALLBACK_REFUSED: "A callback arrived after its run had ended or its deadline; it changed nothing.",
    EventType.SCHEDULE_UPDATED: "The next run moved for a reason other than a finished run; carries the "
    "maintenance window, if one moved it.",
    EventType.SCHEDULE_LATE: "The watchdog found endpoints that were due and did not start in time.",
    EventType.SCHEDULE_WAITING: "Due endpoints are waiting; carries what for, since when, how many, and the setting.",
    EventType.BACKOFF_APPLIED: "Consecutive failures increased the interval.",
    EventType.MANUAL_RUN_REQUESTED: "An immediate run was requested.",
    EventType.MANUAL_RUN_STARTED: "A requested run started.",
    EventType.HINT_WRITTEN: "A hint was written by a user, a rule or a model.",
    EventType.HINT_EXPIRED: "A hint expired; the baseline applies again.",
    EventType.HINT_CLEARED: "Hints were removed; the baseline applies again.",
    EventType.ADVICE_REFUSED: "Advice of a rule, a model or a workflow was refused: a person decided otherwise.",
    EventType.FAILURES_RESET: "The count of consecutive failures was reset to zero.",
    EventType.ENDPOINT_CREATED: "An endpoint was created.",
    EventType.ENDPOINT_UPDATED: "An endpoint's configuration changed.",
    EventType.ENDPOINT_PAUSED: "An endpoint was paused.",
    EventType.ENDPOINT_RESUMED: "An endpoint was resumed, or unparked.",
    EventType.ENDPOINT_PARKED: "An endpoint was parked: it lost its worker too often in a row.",
    EventType.ENDPOINT_ARCHIVED: "An endpoint was archived. Its runs remain, and it never runs again.",
    EventType.ENDPOINT_DELETED: "An endpoint and its runs were deleted.",
    EventType.ENDPOINT_FAULTY: "An internal error while planning, calling or storing one endpoint; only this "
    "endpoint was postponed.",
    EventType.COMMAND_REFUSED: "A program was not run: the operator's list MAINSPRING_COMMANDS does not allow it.",
    EventType.PING_URL_CREATED: "The ping URL of a heartbeat was created or replaced; a previous one became invalid.",
    EventType.PING_URL_REVOKED: "The ping URL of a heartbeat was revoked.",
    EventType.JOB_CREATED: "A job was created.",
    EventType.JOB_UPDATED: "A job's name or description changed.",
    EventType.JOB_PAUSED: "A job was paused; none of its endpoints runs.",
    EventType.JOB_RESUMED: "A job was resumed.",
    EventType.JOB_ARCHIVED: "A job was archived with its endpoints.",
    EventType.CLOCK_STEPPED: "The database clock was set forward or back; carries by how much and how many runs moved.",
    EventType.CLOCK_DIFFERS: "A worker's clock differs from the database clock by more than 30 s; carries by how much.",
    EventType.CLOCK_REPAIRED: "A workflow partition that had stopped because of a clock in the future runs again.",
    EventType.CONFIGURATION_APPLIED: "Documents were applied; carries their sources and the number of changes.",
    EventType.CONFIGURATION_REFUSED: "A document in the watched directory is invalid; the last applied state remains.",
    EventType.QUOTA_DEFERRED: "The tenant used up its monthly runs; the endpoint waits for the next month.",
    EventType.WORKFLOW_PUBLISHED: "A version of a workflow was published.",
    EventType.WORKFLOW_ARCHIVED: "A workflow was archived; it cannot be started any more, and running executions "
    "continue.",
    EventType.WORKFLOW_RESTORED: "An archived workflow can be started again.",
    EventType.EXECUTION_STARTED: "An execution of a workflow was started.",
    EventType.EXECUTION_ORDERED: "An execution was paused, resumed, cancelled, retried or skipped; carries the "
    "command and the reason.",
    EventType.EXECUTION_FAILED: "An execution stopped and waits for a person; carries its step and the error.",
    EventType.EXECUTION_ENDED: "An execution was completed or cancelled; carries its outcome.",
    EventType.EXECUTION_EVENT_IGNORED: "An execution refused an event, for example because its queue was full; "
    "carries the reason.",
    EventType.EXECUTION_ERASED: "The values in the log of a finished execution were erased; its hashes remain.",
    EventType.EXECUTIONS_LATE: "Executions are overdue by more than a minute; carries how many.",
    EventType.EXECUTIONS_ON_TIME: "No execution is overdue any more.",
    EventType.TRIGGER_REFUSED: "A trigger could not start an execution or send it an event; carries the reason.",
    EventType.ALERT_FIRED: "An alert reports a change of state; carries the content of its message.",
    EventType.SIGNING_KEY_CREATED: "A signing key was created; calls are signed with it.",
    EventType.SIGNING_KEY_REVOKED: "A signing key was revoked.",
    EventType.SECRET_KEY_CHANGED: "All secrets of the installation were encrypted with another key.",
    EventType.LOGIN_SUCCEEDED: "A user logged in.",
    EventType.LOGIN_FAILED: "A login attempt was refused.",
    EventType.LOGOUT: "A user logged out.",
    EventType.USER_CREATED: "A user was created.",
    EventType.USER_UPDATED: "A user was renamed, disabled or enabled.",
    EventType.PASSWORD_SET: "A user's password was set; all sessions of that user ended.",
    EventType.SECOND_FACTOR_CHANGED: "A user's second factor was activated or removed.",
    EventType.PASSKEY_ADDED: "A user added a passkey; carries its name.",
    EventType.PASSKEY_REMOVED: "A user removed a passkey; carries its name.",
    EventType.MEMBER_CHANGED: "A user joined a tenant, got another role in it, or was removed from it.",
    EventType.MEMBER_INVITED: "An invitation to a tenant was sent, changed or withdrawn.",
    EventType.API_KEY_CREATED: "An API key was created.",
    EventType.API_KEY_REVOKED: "An API key was revoked.",
    EventType.TENANT_CREATED: "A tenant was created.",
    EventType.QUOTA_CHANGED: "A tenant's name or quotas changed.",
    EventType.DATA_EXPORTED: "The configuration or the audit trail of a tenant was exported.",
    EventType.RULES_CHANGED: "Rules of an endpoint or job were added or removed.",
    EventType.RULE_FIRED: "A rule matched and acted, or would have acted in shadow mode.",
    EventType.RULE_FAULTY: "A rule could not be evaluated or applied; reported once, and treated as false.",
    EventType.PLANNER_ANALYSED: "A model session about an endpoint ended; the session has the details.",
    EventType.PLANNER_MODE_SET: "The planner mode was changed to live, ask, shadow or off.",
    EventType.PROPOSAL_CREATED: "In mode ask, advice proposed a change; it waits for a person until it expires.",
    EventType.PROPOSAL_APPROVED: "A person approved a proposal, and it was applied.",
    EventType.PROPOSAL_REJECTED: "A person rejected a proposal; carries the reason, if given.",
    EventType.PROPOSAL_EXPIRED: "A proposal expired before a person decided; nothing was applied.",
    EventType.PROPOSAL_WITHDRAWN: "A proposal was withdrawn: the planner mode changed, or too many were pending.",
    EventType.WEBHOOK_CREATED: "A webhook was created; it receives events from now on.",
    EventType.WEBHOOK_UPDATED: "A webhook's URL, events or secret changed, or it was enabled or disabled.",
    EventType.WEBHOOK_DELETED: "A webhook was deleted with its deliveries.",
    EventType.WEBHOOK_DISABLED: "A webhook was disabled: it failed for days, or its receiver answered 410 Gone.",
    EventType.CONNECTION_CREATED: "A connection was created.",
    EventType.CONNECTION_UPDATED: "A connection changed; carries the names of the changed fields.",
    EventType.CONNECTION_DELETED: "A connection was deleted.",
    EventType.CONNECTION_TESTED: "A person tested a connection; carries the status of the call.",
    EventType.CALLS_CREATED: "Calls were requested; carries how many are new.",
    EventType.ALERT_CREATED: "An alert was created.",
    EventType.ALERT_UPDATED: "An alert changed, or was enabled or disabled.",
    EventType.ALERT_DELETED: "An alert was deleted with its deliveries.",
    EventType.CALENDAR_CREATED: "A calendar was created.",
    EventType.CALENDAR_UPDATED: "A calendar changed; the endpoints that use it are planned again.",
    EventType.CALENDAR_DELETED: "A calendar was deleted.",
    EventType.MAINTENANCE_CREATED: "A maintenance window was created.",
    EventType.MAINTENANCE_UPDATED: "A maintenance window changed.",
    EventType.MAINTENANCE_DELETED: "A maintenance window was deleted.",
}


class Event(Struct, frozen=True):
    type: EventType
    at: datetime
    tenant_id: str
    endpoint_id: str = ""
    run_id: str = ""  # the correlation id of everything one run causes
    actor: str = "system"
    data: dict[str, object] = {}


class StoredEvent(Struct, frozen=True):
    """An event and its position in the order; `events_after` continues from `cursor`."""

    cursor: str
    event: Event


def place_of(cursor: str) -> tuple[int, int]:
    """Sort key of cursors: a row of events, and an event in it. Raises InvalidInput for text that is not a cursor."""
    found = _CURSOR.fullmatch(cursor)
    if found is None or int(found[1]) > _PLACE_MAX:
        raise InvalidInput(
            f"cursor '{shown(cursor)}' is not a cursor of this database; a cursor comes with an event: send one "
            "back unchanged, or none to start from the beginning",
            field="cursor",
            value=shown(cursor),
        )
    return int(found[1]), int(found[2])
