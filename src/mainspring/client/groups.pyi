# What the methods of a client take and give; written from the API's document by `make docs`.

from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Dict, List, Literal, NotRequired, TypedDict, Union, overload

class Activity(TypedDict):
    hours: List[ActivityHour]
    latest: List[RunView]

class ActivityHour(TypedDict):
    at: str
    runs: Dict[str, int]

AlertKind = Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']

class AlertNew(TypedDict):
    to: List[str]
    kinds: NotRequired[Union[List[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None]]
    failures: NotRequired[Union[int, None]]
    endpoint: NotRequired[Union[str, None]]
    job: NotRequired[Union[str, None]]
    cooldown: NotRequired[Union[Union[int, str], None]]
    quiet: NotRequired[Union[str, None]]
    timezone: NotRequired[Union[str, None]]
    during_quiet: NotRequired[Literal['digest', 'drop']]
    description: NotRequired[Union[str, None]]
    enabled: NotRequired[Union[bool, None]]
    name: str

class AlertPatch(TypedDict):
    to: NotRequired[Union[List[str], None]]
    kinds: NotRequired[Union[List[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None]]
    failures: NotRequired[Union[int, None]]
    endpoint: NotRequired[Union[str, None]]
    job: NotRequired[Union[str, None]]
    cooldown: NotRequired[Union[Union[int, str], None]]
    quiet: NotRequired[Union[str, None]]
    timezone: NotRequired[Union[str, None]]
    during_quiet: NotRequired[Literal['digest', 'drop']]
    description: NotRequired[Union[str, None]]
    enabled: NotRequired[Union[bool, None]]
    name: NotRequired[Union[str, None]]

class AlertTest(TypedDict):
    ok: bool
    ways: List[DestinationTest]

class AlertView(TypedDict):
    enabled: bool
    disabled_reason: Union[str, None]
    failing_since: Union[str, None]
    failure_count: int
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str
    id: str
    name: str
    kinds: List[AlertKind]
    to: List[str]
    failures: int
    endpoint_id: Union[str, None]
    job_id: Union[str, None]
    cooldown_ms: int
    quiet: Union[str, None]
    timezone: str
    during_quiet: Literal['digest', 'drop']
    description: str

class ApiKeyCreated(TypedDict):
    id: str
    name: str
    scopes: List[Literal['read', 'run', 'write', 'admin']]
    operator: bool
    status: Literal['live', 'expired', 'revoked']
    created_by: str
    created_at: str
    expires_at: str
    last_used_at: Union[str, None]
    revoked_at: Union[str, None]
    key: str

class ApiKeyView(TypedDict):
    id: str
    name: str
    scopes: List[Literal['read', 'run', 'write', 'admin']]
    operator: bool
    status: Literal['live', 'expired', 'revoked']
    created_by: str
    created_at: str
    expires_at: str
    last_used_at: Union[str, None]
    revoked_at: Union[str, None]

class Application(TypedDict):
    document: NotRequired[str]
    files: NotRequired[List[DocumentFile]]
    references: NotRequired[Dict[str, str]]
    source: NotRequired[Union[str, None]]
    prune: NotRequired[bool]
    take_over: NotRequired[bool]

class Applied(TypedDict):
    dry_run: bool
    written: bool
    sources: List[str]
    counts: Dict[str, int]
    steps: List[StepTaken]
    notes: List[str]

Asleep = TypedDict("Asleep", {"from": float, "to": float})

class AssertionGiven(TypedDict):
    challenge: str
    id: str
    client_data: str
    authenticator_data: str
    signature: str

class AuditEntryView(TypedDict):
    seq: int
    at: str
    actor: str
    address: Union[str, None]
    act: str
    subject: Union[str, None]
    endpoint: Union[str, None]
    detail: Dict[str, Any]
    before_sha256: Union[str, None]
    after_sha256: Union[str, None]
    seal: str

class AuditVerdict(TypedDict):
    whole: bool
    entries: int
    fault_at: Union[int, None]
    why: Union[str, None]

class Backtest(TypedDict):
    begin: str
    end: str
    limit: int
    is_limited: bool
    is_cut: bool
    faults: List[str]
    calls: Calls
    endpoints: List[EndpointCalls]
    totals: BacktestTotals
    failures: List[RecordedFailure]
    differs: Differences
    runs: ReplayedRuns

class BacktestInput(TypedDict):
    endpoint: NotRequired[Union[str, None]]
    job: NotRequired[Union[str, None]]
    rules: NotRequired[Union[List[Dict[str, JsonValue]], None]]
    every: NotRequired[Union[Union[int, str], None]]
    cron: NotRequired[Union[str, None]]
    min_interval: NotRequired[Union[Union[int, str], None]]
    max_interval: NotRequired[Union[Union[int, str], None]]
    limit: NotRequired[int]

class BacktestTotals(TypedDict):
    failures: int
    only_present: int
    only_changed: int
    listed: int

class BodyView(TypedDict):
    content_type: str
    bytes_kept: int
    bytes_seen: int
    truncated: bool
    text: str

class BreachView(TypedDict):
    execution_id: str
    number: int
    field: str
    expected: str
    found: str

class Bulk(TypedDict):
    ids: NotRequired[Union[List[str], None]]
    matching: NotRequired[Union[Matching, None]]

class BulkAct(TypedDict):
    ids: NotRequired[Union[List[str], None]]
    matching: NotRequired[Union[Matching, None]]
    verb: Verb
    until: NotRequired[Union[str, None]]
    duration: NotRequired[Union[Union[int, str], None]]
    reason: NotRequired[str]

class BulkCommandDryRun(TypedDict):
    dry_run: Literal[True]
    verb: str
    count: int
    sample: List[ExecutionView]

class BulkCommandSent(TypedDict):
    verb: str
    ordered: int
    more: bool

class BulkDone(TypedDict):
    dry_run: bool
    matched: int
    changed: int
    refused_count: int
    refused: List[Refused]
    next_cursor: Union[str, None]

class BulkExecutionRequest(TypedDict):
    verb: Literal['pause', 'resume', 'cancel', 'retry', 'skip']
    workflow: NotRequired[Union[str, None]]
    correlation: NotRequired[Union[str, None]]
    status: NotRequired[Union[Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled'], None]]
    version: NotRequired[Union[int, None]]
    step: NotRequired[Union[str, None]]
    reason: NotRequired[str]
    limit: NotRequired[int]

class CalendarDayView(TypedDict):
    day: str
    label: str

class CalendarDetailView(TypedDict):
    id: str
    name: str
    dates: List[str]
    weekdays: List[str]
    holidays: Union[str, None]
    ics_bytes: int
    found_days: int
    found_until: int
    description: str
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str
    ics: Union[str, None]
    upcoming: List[CalendarDayView]
    users: List[str]

class CalendarNew(TypedDict):
    dates: NotRequired[Union[List[str], None]]
    weekdays: NotRequired[Union[List[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None]]
    holidays: NotRequired[Union[str, None]]
    ics: NotRequired[Union[str, None]]
    description: NotRequired[Union[str, None]]
    name: str

class CalendarPatch(TypedDict):
    dates: NotRequired[Union[List[str], None]]
    weekdays: NotRequired[Union[List[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None]]
    holidays: NotRequired[Union[str, None]]
    ics: NotRequired[Union[str, None]]
    description: NotRequired[Union[str, None]]

class CalendarView(TypedDict):
    id: str
    name: str
    dates: List[str]
    weekdays: List[str]
    holidays: Union[str, None]
    ics_bytes: int
    found_days: int
    found_until: int
    description: str
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str

class CallNew(TypedDict):
    description: NotRequired[Union[str, None]]
    misfire: NotRequired[Literal['run_once', 'skip', 'catch_up']]
    max_lateness: NotRequired[Union[Union[int, str], None]]
    on_lost_worker: NotRequired[Literal['retry', 'skip']]
    retry: NotRequired[Union[RetrySettings, None]]
    at: NotRequired[Union[str, None]]
    confirm: NotRequired[Union[str, None]]
    method: NotRequired[Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']]
    body: NotRequired[Union[str, None]]
    timeout: NotRequired[Union[Union[int, str], None]]
    body_cap: NotRequired[Union[int, None]]
    redirects_max: NotRequired[Union[int, None]]
    accept_codes: NotRequired[Union[List[int], None]]
    condition: NotRequired[Union[str, None]]
    connection: NotRequired[Union[str, None]]
    contains: NotRequired[Union[str, None]]
    matches: NotRequired[Union[str, None]]
    warn_days: NotRequired[Union[int, None]]
    fail_days: NotRequired[Union[int, None]]
    completes: NotRequired[Literal['response', 'callback']]
    callback_timeout: NotRequired[Union[Union[int, str], None]]
    literal: NotRequired[Union[bool, None]]
    url: str
    key: NotRequired[Union[str, None]]
    headers: NotRequired[Union[List[HeaderGiven], None]]

class CallView(TypedDict):
    id: str
    key: str
    status: Literal['waiting', 'running', 'retrying', 'done', 'cancelled']
    at: Union[str, None]
    next_run_at: Union[str, None]
    target: str
    last_run_at: Union[str, None]
    last_status: Union[str, None]
    created_at: str

class CallbackView(TypedDict):
    since_at: str
    until_at: str
    percent: Union[int, None]
    text: str
    reported_at: Union[str, None]

class Calls(TypedDict):
    recorded: int
    present: int
    changed: int
    saved: int

class CallsNew(TypedDict):
    calls: List[CallNew]

class CertificateView(TypedDict):
    subject: str
    issuer: str
    expires_at: Union[str, None]
    days_left: Union[int, None]

class CommandDryRun(TypedDict):
    dry_run: Literal[True]
    execution: ExecutionView
    ordered: str
    reason: str

class CommandSent(TypedDict):
    execution: ExecutionView
    ordered: str
    reason: str

class ConnectionCall(TypedDict):
    path: NotRequired[Union[str, None]]

class ConnectionDetailView(TypedDict):
    base_url: str
    description: str
    auth: str
    secret: Union[str, None]
    header: str
    username: str
    token_url: str
    client_id: str
    scope: str
    audience: str
    access_key_id: str
    region: str
    service: str
    ca: str
    tls_min: str
    client_certificate: str
    client_key: Union[str, None]
    proxy: str
    id: str
    name: str
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str
    users: List[ConnectionUserView]

class ConnectionNew(TypedDict):
    base_url: str
    description: NotRequired[Union[str, None]]
    auth: NotRequired[Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws']]
    secret: NotRequired[Union[str, None]]
    header: NotRequired[Union[str, None]]
    username: NotRequired[Union[str, None]]
    token_url: NotRequired[Union[str, None]]
    client_id: NotRequired[Union[str, None]]
    scope: NotRequired[Union[str, None]]
    audience: NotRequired[Union[str, None]]
    access_key_id: NotRequired[Union[str, None]]
    region: NotRequired[Union[str, None]]
    service: NotRequired[Union[str, None]]
    ca: NotRequired[Union[str, None]]
    tls_min: NotRequired[Literal['1.2', '1.3']]
    client_certificate: NotRequired[Union[str, None]]
    client_key: NotRequired[Union[str, None]]
    proxy: NotRequired[Union[str, None]]
    name: str

class ConnectionPatch(TypedDict):
    base_url: NotRequired[Union[str, None]]
    description: NotRequired[Union[str, None]]
    auth: NotRequired[Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws']]
    secret: NotRequired[Union[str, None]]
    header: NotRequired[Union[str, None]]
    username: NotRequired[Union[str, None]]
    token_url: NotRequired[Union[str, None]]
    client_id: NotRequired[Union[str, None]]
    scope: NotRequired[Union[str, None]]
    audience: NotRequired[Union[str, None]]
    access_key_id: NotRequired[Union[str, None]]
    region: NotRequired[Union[str, None]]
    service: NotRequired[Union[str, None]]
    ca: NotRequired[Union[str, None]]
    tls_min: NotRequired[Literal['1.2', '1.3']]
    client_certificate: NotRequired[Union[str, None]]
    client_key: NotRequired[Union[str, None]]
    proxy: NotRequired[Union[str, None]]

class ConnectionTest(TypedDict):
    ok: bool
    url: str
    status_code: Union[int, None]
    error_code: Union[str, None]
    error: Union[str, None]
    duration_ms: int
    address: Union[str, None]
    phases: Union[PhasesView, None]
    certificate: Union[CertificateView, None]
    response: Union[str, None]

class ConnectionUserView(TypedDict):
    kind: str
    id: str
    name: str

class ConnectionView(TypedDict):
    base_url: str
    description: str
    auth: str
    secret: Union[str, None]
    header: str
    username: str
    token_url: str
    client_id: str
    scope: str
    audience: str
    access_key_id: str
    region: str
    service: str
    ca: str
    tls_min: str
    client_certificate: str
    client_key: Union[str, None]
    proxy: str
    id: str
    name: str
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str

class CountedPage_DeliveryView(TypedDict):
    items: List[DeliveryView]
    next_cursor: Union[str, None]
    total: Union[TotalView, None]

class CountedPage_EndpointView(TypedDict):
    items: List[EndpointView]
    next_cursor: Union[str, None]
    total: Union[TotalView, None]

class CountedPage_ExecutionView(TypedDict):
    items: List[ExecutionView]
    next_cursor: Union[str, None]
    total: Union[TotalView, None]

class CountedPage_RunView(TypedDict):
    items: List[RunView]
    next_cursor: Union[str, None]
    total: Union[TotalView, None]

class DecisionStepView(TypedDict):
    rule: str
    at: Union[str, None]
    verdict: str
    why: str

class DecisionView(TypedDict):
    endpoint: str
    kind: str
    target: str
    status: Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived']
    next_run_at: Union[str, None]
    source: str
    trail: List[DecisionStepView]
    running: Union[RunView, None]
    waiting: Union[WaitView, None]
    reasons: List[ReasonView]
    sentences: List[str]

class Deleted(TypedDict):
    id: str
    name: str
    deleted: Literal[True]

class DeliveryDetailView(TypedDict):
    id: str
    subscription_id: str
    channel: Union[str, None]
    type: str
    status: Literal['pending', 'delivered', 'failed', 'held', 'digested', 'dropped']
    attempts: int
    next_attempt_at: Union[str, None]
    created_at: str
    sent_at: Union[str, None]
    status_code: Union[int, None]
    error: Union[str, None]
    response: Union[str, None]
    duration_ms: Union[int, None]
    payload: Dict[str, Any]

DeliveryStatus = Literal['pending', 'delivered', 'failed', 'held', 'digested', 'dropped']

class DeliveryTest(TypedDict):
    ok: bool
    status_code: Union[int, None]
    error_code: Union[str, None]
    error: Union[str, None]
    duration_ms: int
    response: Union[str, None]

class DeliveryView(TypedDict):
    id: str
    subscription_id: str
    channel: Union[str, None]
    type: str
    status: Literal['pending', 'delivered', 'failed', 'held', 'digested', 'dropped']
    attempts: int
    next_attempt_at: Union[str, None]
    created_at: str
    sent_at: Union[str, None]
    status_code: Union[int, None]
    error: Union[str, None]
    response: Union[str, None]
    duration_ms: Union[int, None]

class DestinationTest(TypedDict):
    ok: bool
    status_code: Union[int, None]
    error_code: Union[str, None]
    error: Union[str, None]
    duration_ms: int
    response: Union[str, None]
    to: str

class DifferenceView(TypedDict):
    number: int
    step: str
    field: str
    expected: str
    actual: str

class Differences(TypedDict):
    only_present: List[ReplayedFiring]
    only_changed: List[ReplayedFiring]

class DocumentFile(TypedDict):
    name: str
    content: str

class DraftRequest(TypedDict):
    endpoint: str

class DryRunOf_AlertView(TypedDict):
    dry_run: Literal[True]
    before: Union[AlertView, None]
    after: Union[AlertView, None]
    changed: List[str]

class DryRunOf_ApiKeyView(TypedDict):
    dry_run: Literal[True]
    before: Union[ApiKeyView, None]
    after: Union[ApiKeyView, None]
    changed: List[str]

class DryRunOf_CalendarView(TypedDict):
    dry_run: Literal[True]
    before: Union[CalendarView, None]
    after: Union[CalendarView, None]
    changed: List[str]

class DryRunOf_CallView(TypedDict):
    dry_run: Literal[True]
    before: Union[CallView, None]
    after: Union[CallView, None]
    changed: List[str]

class DryRunOf_ConnectionView(TypedDict):
    dry_run: Literal[True]
    before: Union[ConnectionView, None]
    after: Union[ConnectionView, None]
    changed: List[str]

class DryRunOf_DeliveryView(TypedDict):
    dry_run: Literal[True]
    before: Union[DeliveryView, None]
    after: Union[DeliveryView, None]
    changed: List[str]

class DryRunOf_MaintenanceView(TypedDict):
    dry_run: Literal[True]
    before: Union[MaintenanceView, None]
    after: Union[MaintenanceView, None]
    changed: List[str]

class DryRunOf_MemberView(TypedDict):
    dry_run: Literal[True]
    before: Union[MemberView, None]
    after: Union[MemberView, None]
    changed: List[str]

class DryRunOf_RuleView(TypedDict):
    dry_run: Literal[True]
    before: Union[RuleView, None]
    after: Union[RuleView, None]
    changed: List[str]

class DryRunOf_SigningKey(TypedDict):
    dry_run: Literal[True]
    before: Union[SigningKey, None]
    after: Union[SigningKey, None]
    changed: List[str]

class DryRunOf_TenantView(TypedDict):
    dry_run: Literal[True]
    before: Union[TenantView, None]
    after: Union[TenantView, None]
    changed: List[str]

class DryRunOf_UserView(TypedDict):
    dry_run: Literal[True]
    before: Union[UserView, None]
    after: Union[UserView, None]
    changed: List[str]

class DryRunOf_WebhookView(TypedDict):
    dry_run: Literal[True]
    before: Union[WebhookView, None]
    after: Union[WebhookView, None]
    changed: List[str]

DuringMaintenance = Literal['continue', 'skip']

class EdgeView(TypedDict):
    id: str
    source: str
    target: str
    kind: Literal['next', 'case', 'default', 'timeout', 'failure']
    label: str

class EffectAnswerInput(TypedDict):
    outcome: NotRequired[Literal['success', 'failure', 'unknown']]
    result: NotRequired[JsonValue]
    code: NotRequired[str]
    error: NotRequired[str]
    after: NotRequired[Union[int, str]]

class EndpointCalls(TypedDict):
    recorded: int
    present: int
    changed: int
    saved: int
    endpoint: str
    endpoint_id: str

class EndpointChanged(TypedDict):
    id: str
    name: str
    next_run_at: NextRunChange

class EndpointChecked(TypedDict):
    status: str
    status_code: Union[int, None]
    error_code: Union[str, None]
    error: Union[str, None]
    duration_ms: int
    address: Union[str, None]
    address_verdict: Literal['allowed', 'blocked', 'not reached']
    phases: Union[PhasesView, None]
    headers: List[List[Any]]
    retry_after_s: Union[int, None]
    body: Union[BodyView, None]
    next_run_at: Union[str, None]

class EndpointDryRun(TypedDict):
    dry_run: Literal[True]
    before: Union[EndpointView, None]
    after: Union[EndpointView, None]
    changed: List[str]
    next_run_at: Union[NextRunChange, None]
    preview: PreviewChange
    templates: Union[TemplatesView, None]

class EndpointMode(TypedDict):
    endpoint: str
    endpoint_id: str
    mode: Literal['live', 'ask', 'shadow', 'off']

EndpointNew = TypedDict("EndpointNew", {"kind": NotRequired[Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat']], "every": NotRequired[Union[Union[int, str], None]], "cron": NotRequired[Union[str, None]], "timezone": NotRequired[Union[str, None]], "job": NotRequired[Union[str, None]], "description": NotRequired[Union[str, None]], "runbook": NotRequired[Union[str, None]], "min_interval": NotRequired[Union[Union[int, str], None]], "max_interval": NotRequired[Union[Union[int, str], None]], "backoff": NotRequired[Literal['default', 'monitor', 'none']], "jitter": NotRequired[Union[Union[int, str], None]], "spread": NotRequired[Union[bool, None]], "misfire": NotRequired[Literal['run_once', 'skip', 'catch_up']], "catch_up_max": NotRequired[Union[int, None]], "max_lateness": NotRequired[Union[Union[int, str], None]], "on_lost_worker": NotRequired[Literal['retry', 'skip']], "advice": NotRequired[Union[List[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None]], "retry": NotRequired[Union[RetrySettings, None]], "at": NotRequired[Union[str, None]], "confirm": NotRequired[Union[str, None]], "except": NotRequired[Union[str, None]], "only": NotRequired[Union[str, None]], "shift": NotRequired[Literal['skip', 'next_business_day', 'previous_business_day']], "method": NotRequired[Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']], "body": NotRequired[Union[str, None]], "timeout": NotRequired[Union[Union[int, str], None]], "body_cap": NotRequired[Union[int, None]], "redirects_max": NotRequired[Union[int, None]], "accept_codes": NotRequired[Union[List[int], None]], "condition": NotRequired[Union[str, None]], "connection": NotRequired[Union[str, None]], "contains": NotRequired[Union[str, None]], "matches": NotRequired[Union[str, None]], "warn_days": NotRequired[Union[int, None]], "fail_days": NotRequired[Union[int, None]], "completes": NotRequired[Literal['response', 'callback']], "callback_timeout": NotRequired[Union[Union[int, str], None]], "literal": NotRequired[Union[bool, None]], "host": NotRequired[Union[str, None]], "port": NotRequired[Union[int, None]], "send": NotRequired[Union[str, None]], "expect": NotRequired[Union[str, None]], "read": NotRequired[Union[bool, None]], "tls": NotRequired[Union[bool, None]], "server_name": NotRequired[Union[str, None]], "verify": NotRequired[Union[bool, None]], "record": NotRequired[Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA']], "resolver": NotRequired[Union[str, None]], "answers": NotRequired[Union[List[str], None]], "answers_match": NotRequired[Literal['all', 'exact', 'any']], "count": NotRequired[Union[int, None]], "spacing": NotRequired[Union[Union[int, str], None]], "max_loss": NotRequired[Union[int, None]], "command": NotRequired[Union[List[str], None]], "shell": NotRequired[Union[bool, None]], "folder": NotRequired[Union[str, None]], "user": NotRequired[Union[str, None]], "exit_codes": NotRequired[Union[List[int], None]], "broker": NotRequired[Union[str, None]], "destination": NotRequired[Union[str, None]], "structure": NotRequired[Literal['stream', 'list']], "exchange": NotRequired[Union[str, None]], "username": NotRequired[Union[str, None]], "grace": NotRequired[Union[Union[int, str], None]], "max_duration": NotRequired[Union[Union[int, str], None]], "headers": NotRequired[Union[List[HeaderGiven], None]], "environment": NotRequired[Union[List[HeaderGiven], None]], "name": str, "url": NotRequired[Union[str, None]]})

EndpointPatch = TypedDict("EndpointPatch", {"kind": NotRequired[Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat']], "every": NotRequired[Union[Union[int, str], None]], "cron": NotRequired[Union[str, None]], "timezone": NotRequired[Union[str, None]], "job": NotRequired[Union[str, None]], "description": NotRequired[Union[str, None]], "runbook": NotRequired[Union[str, None]], "min_interval": NotRequired[Union[Union[int, str], None]], "max_interval": NotRequired[Union[Union[int, str], None]], "backoff": NotRequired[Literal['default', 'monitor', 'none']], "jitter": NotRequired[Union[Union[int, str], None]], "spread": NotRequired[Union[bool, None]], "misfire": NotRequired[Literal['run_once', 'skip', 'catch_up']], "catch_up_max": NotRequired[Union[int, None]], "max_lateness": NotRequired[Union[Union[int, str], None]], "on_lost_worker": NotRequired[Literal['retry', 'skip']], "advice": NotRequired[Union[List[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None]], "retry": NotRequired[Union[RetrySettings, None]], "at": NotRequired[Union[str, None]], "confirm": NotRequired[Union[str, None]], "except": NotRequired[Union[str, None]], "only": NotRequired[Union[str, None]], "shift": NotRequired[Literal['skip', 'next_business_day', 'previous_business_day']], "method": NotRequired[Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']], "body": NotRequired[Union[str, None]], "timeout": NotRequired[Union[Union[int, str], None]], "body_cap": NotRequired[Union[int, None]], "redirects_max": NotRequired[Union[int, None]], "accept_codes": NotRequired[Union[List[int], None]], "condition": NotRequired[Union[str, None]], "connection": NotRequired[Union[str, None]], "contains": NotRequired[Union[str, None]], "matches": NotRequired[Union[str, None]], "warn_days": NotRequired[Union[int, None]], "fail_days": NotRequired[Union[int, None]], "completes": NotRequired[Literal['response', 'callback']], "callback_timeout": NotRequired[Union[Union[int, str], None]], "literal": NotRequired[Union[bool, None]], "host": NotRequired[Union[str, None]], "port": NotRequired[Union[int, None]], "send": NotRequired[Union[str, None]], "expect": NotRequired[Union[str, None]], "read": NotRequired[Union[bool, None]], "tls": NotRequired[Union[bool, None]], "server_name": NotRequired[Union[str, None]], "verify": NotRequired[Union[bool, None]], "record": NotRequired[Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA']], "resolver": NotRequired[Union[str, None]], "answers": NotRequired[Union[List[str], None]], "answers_match": NotRequired[Literal['all', 'exact', 'any']], "count": NotRequired[Union[int, None]], "spacing": NotRequired[Union[Union[int, str], None]], "max_loss": NotRequired[Union[int, None]], "command": NotRequired[Union[List[str], None]], "shell": NotRequired[Union[bool, None]], "folder": NotRequired[Union[str, None]], "user": NotRequired[Union[str, None]], "exit_codes": NotRequired[Union[List[int], None]], "broker": NotRequired[Union[str, None]], "destination": NotRequired[Union[str, None]], "structure": NotRequired[Literal['stream', 'list']], "exchange": NotRequired[Union[str, None]], "username": NotRequired[Union[str, None]], "grace": NotRequired[Union[Union[int, str], None]], "max_duration": NotRequired[Union[Union[int, str], None]], "headers": NotRequired[Union[List[HeaderGiven], None]], "environment": NotRequired[Union[List[HeaderGiven], None]], "name": NotRequired[Union[str, None]], "url": NotRequired[Union[str, None]]})

class EndpointView(TypedDict):
    kind: str
    interval_ms: Union[int, None]
    cron: Union[str, None]
    timezone: str
    job: str
    description: str
    runbook: str
    min_interval_ms: Union[int, None]
    max_interval_ms: Union[int, None]
    backoff: str
    jitter_ms: int
    spread: bool
    misfire: str
    catch_up_max: int
    max_lateness_ms: Union[int, None]
    on_lost_worker: str
    advice: List[str]
    retry: Union[RetryView, None]
    once_at: Union[str, None]
    confirm: Union[str, None]
    except_calendar: str
    only_calendar: str
    shift: str
    method: Union[str, None]
    body: Union[str, None]
    timeout_ms: int
    body_cap: int
    redirects_max: Union[int, None]
    accept_codes: Union[List[int], None]
    condition: Union[str, None]
    connection: Union[str, None]
    contains: Union[str, None]
    matches: Union[str, None]
    warn_days: Union[int, None]
    fail_days: Union[int, None]
    completes: Union[str, None]
    callback_timeout_ms: Union[int, None]
    literal: Union[bool, None]
    host: Union[str, None]
    port: Union[int, None]
    send: Union[str, None]
    expect: Union[str, None]
    read: Union[bool, None]
    tls: Union[bool, None]
    server_name: Union[str, None]
    verify: Union[bool, None]
    record: Union[str, None]
    resolver: Union[str, None]
    answers: Union[List[str], None]
    answers_match: Union[str, None]
    count: Union[int, None]
    spacing_ms: Union[int, None]
    max_loss: Union[int, None]
    command: Union[List[str], None]
    shell: Union[bool, None]
    folder: Union[str, None]
    user: Union[str, None]
    exit_codes: Union[List[int], None]
    broker: Union[str, None]
    destination: Union[str, None]
    structure: Union[str, None]
    exchange: Union[str, None]
    username: Union[str, None]
    grace_ms: Union[int, None]
    max_duration_ms: Union[int, None]
    id: str
    name: str
    status: Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived']
    target: str
    url: Union[str, None]
    headers: List[HeaderView]
    environment: List[HeaderView]
    schedule: str
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str
    paused_until: Union[str, None]
    pause_reason: str
    pause_author: str
    advice_may_resume: bool
    parked_at: Union[str, None]
    parked_reason: str
    archived_at: Union[str, None]
    deferred_until: Union[str, None]
    failure_count: int
    not_before: Union[str, None]
    interval_hint: Union[IntervalHintView, None]
    one_shot_hint: Union[OneShotHintView, None]
    refused_advice: Union[RefusedAdviceView, None]
    next_run_at: Union[str, None]
    source: str
    run_requested_at: Union[str, None]
    running: Union[RunInFlight, None]
    last_run_at: Union[str, None]
    last_status: Union[str, None]

class EraseDryRun(TypedDict):
    dry_run: Literal[True]
    execution: ExecutionView

class Erased(TypedDict):
    id: str
    entries: int

class EventDryRun(TypedDict):
    dry_run: Literal[True]
    to: str
    executions: List[str]

class EventNew(TypedDict):
    to: str
    type: str
    data: NotRequired[Dict[str, JsonValue]]
    id: NotRequired[str]
    occurred_at: NotRequired[Union[str, None]]

class EventSent(TypedDict):
    to: str
    executions: List[str]
    new: int
    trouble: str

EventType = Literal['run.started', 'run.finished', 'run.timeout', 'run.abandoned', 'run.retried', 'run.waiting', 'run.progress', 'run.superseded', 'run.missed', 'callback.refused', 'schedule.updated', 'schedule.late', 'schedule.waiting', 'backoff.applied', 'manual_run.requested', 'manual_run.started', 'hint.written', 'hint.expired', 'hint.cleared', 'advice.refused', 'failures.reset', 'endpoint.created', 'endpoint.updated', 'endpoint.paused', 'endpoint.resumed', 'endpoint.parked', 'endpoint.archived', 'endpoint.deleted', 'endpoint.faulty', 'command.refused', 'ping_url.created', 'ping_url.revoked', 'job.created', 'job.updated', 'job.paused', 'job.resumed', 'job.archived', 'clock.stepped', 'clock.differs', 'clock.repaired', 'configuration.applied', 'configuration.refused', 'quota.deferred', 'workflow.published', 'workflow.archived', 'workflow.restored', 'execution.started', 'execution.ordered', 'execution.failed', 'execution.ended', 'execution.event_ignored', 'execution.erased', 'executions.late', 'executions.on_time', 'trigger.refused', 'alert.fired', 'signing_key.created', 'signing_key.revoked', 'secret_key.changed', 'login.succeeded', 'login.failed', 'logout', 'user.created', 'user.updated', 'password.set', 'second_factor.changed', 'passkey.added', 'passkey.removed', 'member.changed', 'member.invited', 'api_key.created', 'api_key.revoked', 'tenant.created', 'quota.changed', 'data.exported', 'rules.changed', 'rule.fired', 'rule.faulty', 'planner.analysed', 'planner.mode_set', 'proposal.created', 'proposal.approved', 'proposal.rejected', 'proposal.expired', 'proposal.withdrawn', 'webhook.created', 'webhook.updated', 'webhook.deleted', 'webhook.disabled', 'connection.created', 'connection.updated', 'connection.deleted', 'connection.tested', 'calls.created', 'alert.created', 'alert.updated', 'alert.deleted', 'calendar.created', 'calendar.updated', 'calendar.deleted', 'maintenance.created', 'maintenance.updated', 'maintenance.deleted']

class EventView(TypedDict):
    cursor: str
    type: str
    at: str
    endpoint: Union[str, None]
    endpoint_id: Union[str, None]
    run_id: Union[str, None]
    actor: str
    data: Dict[str, Any]

class EventsDryRun(TypedDict):
    dry_run: Literal[True]
    items: List[EventSent]

class EventsNew(TypedDict):
    events: List[EventNew]

class EventsSent(TypedDict):
    new: int
    items: List[EventSent]

class ExcludedDayView(TypedDict):
    day: str
    calendar: str
    label: str
    text: str

class ExecutionComparisonView(TypedDict):
    execution: str
    correlation: str
    version: int
    identical: bool
    differences: int
    first: Union[DifferenceView, None]
    trouble: str

class ExecutionDetailView(TypedDict):
    input: Dict[str, JsonValue]
    vars: Dict[str, JsonValue]
    steps: Dict[str, JsonValue]
    events: Dict[str, JsonValue]
    visits: Dict[str, int]
    visit: int
    attempt: int
    id: str
    workflow: str
    version: int
    status: Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled']
    step: str
    outcome: str
    error: str
    allows: List[str]
    waits_for: Literal['', 'time', 'event', 'effect', 'retry']
    wake_tick: Union[int, None]
    wake_at: Union[str, None]
    correlation: str
    idempotency_key: Union[str, None]
    partition: int
    entries: int
    head: str
    actor: str
    created_at: str
    moved_at: str

class ExecutionExport(TypedDict):
    format: Literal['mainspring.execution.v1']
    execution: str
    salt: str
    status: Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled']
    outcome: str
    error: str
    correlation: str
    created_at: str
    actor: str
    workflow: str
    version: int
    document: str
    zero: str
    resolution_ms: int
    partition: int
    log: List[Dict[str, JsonValue]]
    ticks: List[Dict[str, JsonValue]]
    checkpoint: Union[Dict[str, JsonValue], None]
    note: str
    zeros: List[List[Any]]

class ExecutionStarted(TypedDict):
    input: Dict[str, JsonValue]
    vars: Dict[str, JsonValue]
    steps: Dict[str, JsonValue]
    events: Dict[str, JsonValue]
    visits: Dict[str, int]
    visit: int
    attempt: int
    id: str
    workflow: str
    version: int
    status: Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled']
    step: str
    outcome: str
    error: str
    allows: List[str]
    waits_for: Literal['', 'time', 'event', 'effect', 'retry']
    wake_tick: Union[int, None]
    wake_at: Union[str, None]
    correlation: str
    idempotency_key: Union[str, None]
    partition: int
    entries: int
    head: str
    actor: str
    created_at: str
    moved_at: str
    new: bool

class ExecutionView(TypedDict):
    id: str
    workflow: str
    version: int
    status: Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled']
    step: str
    outcome: str
    error: str
    allows: List[str]
    waits_for: Literal['', 'time', 'event', 'effect', 'retry']
    wake_tick: Union[int, None]
    wake_at: Union[str, None]
    correlation: str
    idempotency_key: Union[str, None]
    partition: int
    entries: int
    head: str
    actor: str
    created_at: str
    moved_at: str

class FactView(TypedDict):
    name: str
    about: str

class FactorBegun(TypedDict):
    secret: str
    uri: str

class FactorCode(TypedDict):
    code: str

class FactorConfirmed(TypedDict):
    recovery_codes: List[str]

class FactorState(TypedDict):
    enabled: bool
    recovery_codes_left: int

class FieldChanged(TypedDict):
    field: str
    before: Any
    after: Any

class Graph(TypedDict):
    nodes: List[NodeView]
    edges: List[EdgeView]

class HeaderGiven(TypedDict):
    name: str
    value: NotRequired[Union[str, None]]
    secret: NotRequired[bool]

class HeaderView(TypedDict):
    name: str
    value: str
    secret: bool

class HealthView(TypedDict):
    endpoint: str
    status: Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived']
    failure_streak: int
    last_status: Union[str, None]
    last_run_at: Union[str, None]
    windows: List[HealthWindow]

class HealthWindow(TypedDict):
    window: Literal['1h', '24h', '7d', '30d']
    since: str
    runs: int
    successes: int
    success_share: Union[float, None]
    latency_p50_ms: Union[int, None]
    latency_p95_ms: Union[int, None]

class IntervalHintNew(TypedDict):
    every: Union[int, str]
    ttl: NotRequired[Union[int, str]]
    reason: NotRequired[str]

class IntervalHintView(TypedDict):
    interval_ms: int
    expires_at: str
    reason: str
    author: str

class Invited(TypedDict):
    user: UserView
    link: Union[str, None]
    emailed: bool

class JobDryRun(TypedDict):
    dry_run: Literal[True]
    before: Union[JobView, None]
    after: Union[JobView, None]
    changed: List[str]
    endpoints_changed: int
    endpoints: List[EndpointChanged]

class JobNew(TypedDict):
    description: NotRequired[Union[str, None]]
    name: str

class JobPatch(TypedDict):
    description: NotRequired[Union[str, None]]
    name: NotRequired[Union[str, None]]

class JobView(TypedDict):
    id: str
    name: str
    description: str
    status: Literal['active', 'paused', 'archived']
    managed_by: Union[str, None]
    created_at: str
    updated_at: str

JsonValue = Any

class KeptCheckpoint(TypedDict):
    partition: int
    sequence: int
    tick: int
    head: str
    signed_at: str
    public_key: str
    signature: str

class KeyNew(TypedDict):
    name: str
    scopes: NotRequired[List[Literal['read', 'run', 'write', 'admin']]]
    expires_in: NotRequired[Union[int, str]]
    operator: NotRequired[bool]

class KindFieldView(TypedDict):
    key: str
    type: str
    about: str
    required: bool
    default: str
    choices: List[str]
    unit: str
    examples: List[str]
    is_long: bool
    shown_as: str

class KindView(TypedDict):
    name: str
    about: str
    fields: List[KindFieldView]
    facts: List[FactView]

class LinkToken(TypedDict):
    token: str

class LinkView(TypedDict):
    use: Literal['first_owner', 'password', 'invitation']
    email: Union[str, None]
    tenant: Union[str, None]
    tenant_name: Union[str, None]
    role: Union[Literal['viewer', 'operator', 'owner'], None]
    needs_login: bool
    expires_at: str

class ListOf_ApiKeyView(TypedDict):
    items: List[ApiKeyView]

class ListOf_CalendarDayView(TypedDict):
    items: List[CalendarDayView]

class ListOf_KindView(TypedDict):
    items: List[KindView]

class ListOf_LoginSessionView(TypedDict):
    items: List[LoginSessionView]

class ListOf_MemberView(TypedDict):
    items: List[MemberView]

class ListOf_PartitionStatus(TypedDict):
    items: List[PartitionStatus]

class ListOf_PartitionVerified(TypedDict):
    items: List[PartitionVerified]

class ListOf_ScenarioView(TypedDict):
    items: List[ScenarioView]

class ListOf_SigningKey(TypedDict):
    items: List[SigningKey]

class ListOf_TenantSpend(TypedDict):
    items: List[TenantSpend]

class ListOf_TenantView(TypedDict):
    items: List[TenantView]

class ListOf_UserView(TypedDict):
    items: List[UserView]

class LogEntryView(TypedDict):
    number: int
    tick: int
    at: str
    step: str
    action: str
    input: JsonValue
    output: JsonValue
    erased: bool
    input_hash: str
    output_hash: str
    context: str
    previous: str
    hash: str

class Login(TypedDict):
    email: str
    password: str
    code: NotRequired[str]
    passkey: NotRequired[Union[AssertionGiven, None]]

class LoginSessionView(TypedDict):
    id: str
    current: bool
    address: Union[str, None]
    agent: Union[str, None]
    created_at: str
    seen_at: str
    expires_at: str

class MaintenanceNew(TypedDict):
    cron: NotRequired[Union[str, None]]
    duration: NotRequired[Union[Union[int, str], None]]
    timezone: NotRequired[Union[str, None]]
    start: NotRequired[Union[str, None]]
    end: NotRequired[Union[str, None]]
    endpoint: NotRequired[Union[str, None]]
    job: NotRequired[Union[str, None]]
    runs: NotRequired[Literal['continue', 'skip']]
    description: NotRequired[Union[str, None]]
    name: str

class MaintenancePatch(TypedDict):
    cron: NotRequired[Union[str, None]]
    duration: NotRequired[Union[Union[int, str], None]]
    timezone: NotRequired[Union[str, None]]
    start: NotRequired[Union[str, None]]
    end: NotRequired[Union[str, None]]
    endpoint: NotRequired[Union[str, None]]
    job: NotRequired[Union[str, None]]
    runs: NotRequired[Literal['continue', 'skip']]
    description: NotRequired[Union[str, None]]
    name: NotRequired[Union[str, None]]

class MaintenanceView(TypedDict):
    id: str
    name: str
    state: Literal['open', 'upcoming', 'over']
    opens_at: Union[str, None]
    closes_at: Union[str, None]
    cron: Union[str, None]
    duration_ms: Union[int, None]
    timezone: str
    starts_at: Union[str, None]
    ends_at: Union[str, None]
    endpoint_id: Union[str, None]
    job_id: Union[str, None]
    runs: DuringMaintenance
    description: str
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str

class Matching(TypedDict):
    job: NotRequired[Union[str, None]]
    state: NotRequired[Union[Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived', 'running', 'failing', 'adapting'], None]]
    text: NotRequired[Union[str, None]]

class MemberAdded(TypedDict):
    member: MemberView
    link: Union[str, None]
    emailed: bool

class MemberNew(TypedDict):
    email: str
    role: Literal['viewer', 'operator', 'owner']
    name: NotRequired[str]

class MemberView(TypedDict):
    user_id: Union[str, None]
    email: str
    name: str
    role: Literal['viewer', 'operator', 'owner']
    disabled: bool
    status: Literal['active', 'invited', 'unproved', 'disabled']
    created_at: str
    expires_at: Union[str, None]

class MembershipView(TypedDict):
    tenant: str
    name: str
    role: Literal['viewer', 'operator', 'owner']

class ModeChange(TypedDict):
    mode: Literal['live', 'ask', 'shadow', 'off']
    undo: NotRequired[bool]

class ModeDryRun(TypedDict):
    dry_run: Literal[True]
    before: ModeSet
    after: ModeSet
    changed: List[str]

class ModeSet(TypedDict):
    scope: str
    mode: Literal['live', 'ask', 'shadow', 'off']
    in_force: int
    undone: int

class NextRunChange(TypedDict):
    before: Union[str, None]
    after: Union[str, None]

class NodeView(TypedDict):
    id: str
    kind: str
    label: str
    is_start: bool

class OneShotHintNew(TypedDict):
    at: NotRequired[Union[str, None]]
    after: NotRequired[Union[Union[int, str], None]]
    ttl: NotRequired[Union[int, str]]
    reason: NotRequired[str]

class OneShotHintView(TypedDict):
    next_run_at: str
    expires_at: str
    reason: str
    author: str

class PageOf_AlertView(TypedDict):
    items: List[AlertView]
    next_cursor: Union[str, None]

class PageOf_AuditEntryView(TypedDict):
    items: List[AuditEntryView]
    next_cursor: Union[str, None]

class PageOf_CalendarView(TypedDict):
    items: List[CalendarView]
    next_cursor: Union[str, None]

class PageOf_CallView(TypedDict):
    items: List[CallView]
    next_cursor: Union[str, None]

class PageOf_ConnectionView(TypedDict):
    items: List[ConnectionView]
    next_cursor: Union[str, None]

class PageOf_EventView(TypedDict):
    items: List[EventView]
    next_cursor: Union[str, None]

class PageOf_JobView(TypedDict):
    items: List[JobView]
    next_cursor: Union[str, None]

class PageOf_LogEntryView(TypedDict):
    items: List[LogEntryView]
    next_cursor: Union[str, None]

class PageOf_MaintenanceView(TypedDict):
    items: List[MaintenanceView]
    next_cursor: Union[str, None]

class PageOf_PlannerProposal(TypedDict):
    items: List[PlannerProposal]
    next_cursor: Union[str, None]

class PageOf_PlannerSession(TypedDict):
    items: List[PlannerSession]
    next_cursor: Union[str, None]

class PageOf_RecentRuns(TypedDict):
    items: List[RecentRuns]
    next_cursor: Union[str, None]

class PageOf_RuleView(TypedDict):
    items: List[RuleView]
    next_cursor: Union[str, None]

class PageOf_TimelineEntryView(TypedDict):
    items: List[TimelineEntryView]
    next_cursor: Union[str, None]

class PageOf_Upcoming(TypedDict):
    items: List[Upcoming]
    next_cursor: Union[str, None]

class PageOf_WebhookView(TypedDict):
    items: List[WebhookView]
    next_cursor: Union[str, None]

class PageOf_WorkerView(TypedDict):
    items: List[WorkerView]
    next_cursor: Union[str, None]

class PageOf_WorkflowView(TypedDict):
    items: List[WorkflowView]
    next_cursor: Union[str, None]

class PartitionStatus(TypedDict):
    partition: int
    tick: int
    ticks: int
    writer: str
    lease_until: Union[str, None]
    waits_since: Union[str, None]
    overdue: int

class PartitionVerified(TypedDict):
    valid: bool
    partition: int
    ticks: int
    executions: int
    checkpoints: int
    kept: int
    unreachable: int
    unsigned: int
    breach: Union[BreachView, None]

class PartitionVerifyRequest(TypedDict):
    partition: NotRequired[Union[int, None]]
    checkpoints: NotRequired[List[KeptCheckpoint]]

class PasskeyAdded(TypedDict):
    passkey: PasskeyView
    recovery_codes: List[str]

class PasskeyChallenge(TypedDict):
    challenge: str
    options: Dict[str, Any]

class PasskeyList(TypedDict):
    items: List[PasskeyView]
    unavailable: Union[str, None]

class PasskeyLogin(TypedDict):
    passkey: AssertionGiven

class PasskeyNew(TypedDict):
    name: str
    challenge: str
    client_data: str
    attestation: str

class PasskeyPatch(TypedDict):
    name: str

class PasskeyView(TypedDict):
    id: str
    name: str
    usable: bool
    created_at: str
    used_at: Union[str, None]

class PasswordAgain(TypedDict):
    password: str

class PasswordChange(TypedDict):
    current: NotRequired[str]
    password: str

class Pause(TypedDict):
    until: NotRequired[Union[str, None]]
    duration: NotRequired[Union[Union[int, str], None]]
    reason: NotRequired[str]
    advice_may_resume: NotRequired[bool]

class PhasesView(TypedDict):
    dns_us: int
    connect_us: int
    tls_us: int
    first_byte_us: int
    total_us: Union[int, None]

class PingUrlView(TypedDict):
    endpoint: str
    url: Union[str, None]
    created_at: Union[str, None]

class PlacedCallView(TypedDict):
    id: str
    key: str
    status: Literal['waiting', 'running', 'retrying', 'done', 'cancelled']
    at: Union[str, None]
    next_run_at: Union[str, None]
    target: str
    last_run_at: Union[str, None]
    last_status: Union[str, None]
    created_at: str
    is_new: bool

class PlacedCalls(TypedDict):
    dry_run: bool
    created: int
    duplicates: int
    items: List[PlacedCallView]

class PlannedRunView(TypedDict):
    next_run_at: str
    source: str
    trail: List[DecisionStepView]

class PlannerModes(TypedDict):
    all: Literal['live', 'ask', 'shadow', 'off']
    tenant: Literal['live', 'ask', 'shadow', 'off']
    endpoints: List[EndpointMode]

class PlannerProposal(TypedDict):
    id: str
    endpoint: str
    endpoint_id: str
    state: Literal['pending', 'approved', 'rejected', 'expired', 'superseded', 'withdrawn']
    kind: Literal['rule', 'model', 'workflow']
    author: str
    action: str
    arguments: Dict[str, JsonValue]
    does: str
    reason: str
    cause: Union[str, None]
    created_at: str
    expires_at: str
    decided_at: Union[str, None]
    decided_by: Union[str, None]
    note: Union[str, None]

class PlannerSession(TypedDict):
    id: str
    endpoint: str
    endpoint_id: str
    at: str
    status: Literal['done', 'incomplete', 'skipped', 'stopped', 'failed']
    mode: Literal['live', 'ask', 'shadow']
    model: str
    tokens_in: int
    tokens_out: int
    cost_usd: float
    duration_ms: int
    next_analysis_at: str
    failures: int
    reasoning: str
    actions_taken: str
    confidence: str
    warnings: List[str]
    note: str
    tool_calls: List[ToolCalled]

class PlannerStatus(TypedDict):
    policy: Literal['rules', 'rules and model']
    model: Union[str, None]
    model_fault: Union[str, None]
    how_to_add_a_model: Union[str, None]
    modes: PlannerModes
    rules: int
    rules_with_faults: int
    proposals_pending: int
    spend: Spend

class Played(TypedDict):
    title: str
    description: str
    seed: int
    minutes: float
    started_at: str
    ok: bool
    runs: int
    sources: Dict[str, int]
    phases: List[ScenarioPhase]
    endpoints: List[PlayedEndpoint]
    decisions: List[PlayedDecision]
    checks: List[PlayedCheck]
    is_cut: bool

class PlayedCheck(TypedDict):
    check: str
    ok: bool
    detail: str

class PlayedDecision(TypedDict):
    minute: float
    endpoint: str
    type: str
    actor: str
    data: Dict[str, JsonValue]

class PlayedEndpoint(TypedDict):
    name: str
    group: str
    every: Union[str, None]
    cron: Union[str, None]
    min_interval_ms: Union[int, None]
    max_interval_ms: Union[int, None]
    asleep: List[Asleep]
    runs: List[PlayedRunView]
    intervals: List[PlayedInterval]

class PlayedInterval(TypedDict):
    minute: float
    seconds: float

class PlayedRunView(TypedDict):
    minute: float
    duration_ms: Union[int, None]
    status: str
    source: str
    why: str

class PreviewChange(TypedDict):
    before: List[PlannedRunView]
    after: List[PlannedRunView]

class QuotaPatch(TypedDict):
    name: NotRequired[Union[str, None]]
    runs_per_month: NotRequired[Union[int, None]]
    tokens_per_month: NotRequired[Union[int, None]]
    endpoints_max: NotRequired[Union[int, None]]
    interval_ms_min: NotRequired[Union[int, None]]

class Quotas(TypedDict):
    runs_per_month: Union[int, None]
    tokens_per_month: Union[int, None]
    endpoints_max: Union[int, None]
    interval_ms_min: Union[int, None]

class QuotasDryRun(TypedDict):
    dry_run: Literal[True]
    before: Quotas
    after: Quotas
    changed: List[str]

class QuotasPatch(TypedDict):
    runs_per_month: NotRequired[Union[int, None]]
    tokens_per_month: NotRequired[Union[int, None]]
    endpoints_max: NotRequired[Union[int, None]]
    interval_ms_min: NotRequired[Union[Union[int, str], None]]

class Reason(TypedDict):
    reason: NotRequired[str]

class ReasonView(TypedDict):
    part: Literal['state', 'waiting', 'running', 'plan', 'note']
    kind: Literal['archived', 'done', 'parked', 'job-paused', 'paused', 'paused-by', 'deferred', 'planned', 'waiting', 'advice', 'running', 'earlier-plan', 'run-requested', 'no-scheduler', 'undecided', 'decided', 'step', 'hint', 'contradiction', 'refused', 'proposed', 'failures', 'maintenance', 'calendar']
    text: str
    command: Union[str, None]
    at: Union[str, None]
    author: Union[str, None]

class RecentRuns(TypedDict):
    endpoint_id: str
    runs: List[RunMarkView]
    p95_ms: Union[int, None]

class RecordedFailure(TypedDict):
    endpoint: str
    failed_at: str
    recovered_at: Union[str, None]
    seen_after_s: SeenAfter

class Refused(TypedDict):
    id: str
    name: str
    why: str

class RefusedAdviceView(TypedDict):
    at: str
    author: str
    does: str
    because: str

class Rejection(TypedDict):
    reason: NotRequired[str]

class ReplayManyRequest(TypedDict):
    version: NotRequired[Union[int, None]]
    document: NotRequired[Union[str, None]]
    limit: NotRequired[int]

class ReplayRequest(TypedDict):
    version: NotRequired[Union[int, None]]
    document: NotRequired[Union[str, None]]

class Replayed(TypedDict):
    identical: bool
    steps: List[ReplayedStepView]
    diffs: List[DifferenceView]

class ReplayedFiring(TypedDict):
    at: str
    endpoint: str
    rule: str
    does: str
    run_id: Union[str, None]

class ReplayedMany(TypedDict):
    compared: int
    identical: int
    items: List[ExecutionComparisonView]

class ReplayedRunView(TypedDict):
    at: str
    endpoint: str
    ok: bool
    source: str

class ReplayedRuns(TypedDict):
    present: List[ReplayedRunView]
    changed: List[ReplayedRunView]

class ReplayedStepView(TypedDict):
    number: int
    step: str
    original: str
    replayed: str
    identical: bool

class RequestView(TypedDict):
    kind: str
    target: str
    method: Union[str, None]
    url: Union[str, None]
    headers: List[HeaderView]
    body: Union[str, None]
    timeout_ms: int

class RetrySettings(TypedDict):
    attempts: NotRequired[Union[int, None]]
    delay: NotRequired[Union[Union[int, str], None]]
    factor: NotRequired[Union[int, None]]
    max_delay: NotRequired[Union[Union[int, str], None]]
    on: NotRequired[Union[List[Literal['timeout', 'connect', '5xx', 'rate_limit', '4xx', 'condition', 'other']], None]]

class RetryView(TypedDict):
    attempts: int
    delay_ms: int
    factor: int
    max_delay_ms: int
    on: List[str]

class Revoked(TypedDict):
    id: str
    revoked: Literal[True]

class RoleChange(TypedDict):
    role: Literal['viewer', 'operator', 'owner']

class RuleNew(TypedDict):
    endpoint: NotRequired[Union[str, None]]
    job: NotRequired[Union[str, None]]
    rule: Dict[str, JsonValue]

class RulePatch(TypedDict):
    rule: Dict[str, JsonValue]

class RuleView(TypedDict):
    id: str
    endpoint: Union[str, None]
    endpoint_id: Union[str, None]
    job_id: str
    rule: Dict[str, JsonValue]
    does: str
    created_at: str
    fired_at: Union[str, None]
    fault: Union[str, None]
    refused: Union[str, None]

class RulesChecked(TypedDict):
    ok: Literal[True]
    rules: List[Dict[str, JsonValue]]

class RulesDrafted(TypedDict):
    rules: List[Dict[str, JsonValue]]
    explanation: str
    session: PlannerSession
    backtest: Union[Backtest, None]

class RulesGiven(TypedDict):
    endpoint: NotRequired[Union[str, None]]
    job: NotRequired[Union[str, None]]
    rules: NotRequired[Union[List[Dict[str, JsonValue]], None]]
    limit: NotRequired[int]

class RulesTested(TypedDict):
    runs: List[RunTested]
    fired: Dict[str, int]
    endpoints: List[str]

class RunCertificateView(TypedDict):
    subject: str
    issuer: str
    days_left: Union[int, None]
    not_after: Union[str, None]

class RunDetailView(TypedDict):
    id: str
    endpoint: str
    endpoint_id: str
    slot_at: str
    attempt: int
    trigger: str
    source: str
    status: str
    started_at: str
    finished_at: Union[str, None]
    duration_ms: Union[int, None]
    status_code: Union[int, None]
    error: Union[str, None]
    maintenance: Union[str, None]
    error_code: Union[str, None]
    worker: str
    missed_count: int
    phases: Union[PhasesView, None]
    address: Union[str, None]
    headers: List[List[Any]]
    tls: Union[RunCertificateView, None]
    body: Union[BodyView, None]
    callback: Union[CallbackView, None]
    trail: List[DecisionStepView]

class RunInFlight(TypedDict):
    run_id: str
    slot_at: Union[str, None]
    attempt: int
    trigger: str
    worker: str
    lease_until: Union[str, None]
    callback: Union[CallbackView, None]

class RunMarkView(TypedDict):
    id: str
    status: str
    duration_ms: Union[int, None]

class RunRequested(TypedDict):
    endpoint: EndpointView
    run: Union[RunView, None]

class RunTested(TypedDict):
    run_id: str
    endpoint: str
    at: str
    fired: List[str]
    faults: List[str]

RunTrigger = Literal['schedule', 'manual', 'test', 'catch-up', 'retry']

class RunView(TypedDict):
    id: str
    endpoint: str
    endpoint_id: str
    slot_at: str
    attempt: int
    trigger: str
    source: str
    status: str
    started_at: str
    finished_at: Union[str, None]
    duration_ms: Union[int, None]
    status_code: Union[int, None]
    error: Union[str, None]
    maintenance: Union[str, None]

class ScenarioDetailView(TypedDict):
    name: str
    title: str
    description: str
    minutes: float
    endpoints: int
    checks: int
    document: Dict[str, JsonValue]

ScenarioPhase = TypedDict("ScenarioPhase", {"from": float, "to": float, "phase": str, "measured": Dict[str, JsonValue]})

class ScenarioView(TypedDict):
    name: str
    title: str
    description: str
    minutes: float
    endpoints: int
    checks: int

class SeenAfter(TypedDict):
    present: Union[float, None]
    changed: Union[float, None]

class SessionsEnded(TypedDict):
    ended: int

class Setup(TypedDict):
    token: str
    password: str
    email: NotRequired[Union[str, None]]
    name: NotRequired[str]

class ShadowFiring(TypedDict):
    at: str
    endpoint: Union[str, None]
    endpoint_id: str
    run_id: Union[str, None]
    rule: str
    does: str
    reason: str

class ShadowResults(TypedDict):
    firings: List[ShadowFiring]
    sessions: List[PlannerSession]

class SignedCheckpoint(TypedDict):
    partition: int
    sequence: int
    tick: int
    head: str
    signed_at: str
    public_key: str
    signature: str

class SignedCheckpoints(TypedDict):
    format: str
    checkpoints: List[SignedCheckpoint]

class SigningKey(TypedDict):
    id: str
    created_at: str

class SigningKeyCreated(TypedDict):
    id: str
    secret: str

class Simulated(TypedDict):
    input: Dict[str, JsonValue]
    vars: Dict[str, JsonValue]
    steps: Dict[str, JsonValue]
    events: Dict[str, JsonValue]
    visits: Dict[str, int]
    visit: int
    attempt: int
    status: Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled']
    step: str
    outcome: str
    error: str
    waits_for: Literal['', 'time', 'event', 'effect', 'retry']
    wake_tick: Union[int, None]
    wake_at: Union[str, None]
    entries: int
    head: str
    last_tick: int
    cut: bool
    effects: List[Dict[str, JsonValue]]
    timeline: List[TimelineEntryView]

class SimulatedEventInput(TypedDict):
    after: Union[int, str]
    type: str
    data: NotRequired[Dict[str, JsonValue]]

class SimulationRequest(TypedDict):
    scenario: NotRequired[Union[str, None]]
    document: NotRequired[Union[str, None]]
    seed: NotRequired[int]

class Spend(TypedDict):
    month: str
    sessions: int
    tokens_in: int
    tokens_out: int
    tokens: int
    tokens_max: Union[int, None]
    cost_usd: float

class StartDryRun(TypedDict):
    dry_run: Literal[True]
    new: bool
    execution: Union[ExecutionView, None]
    version: int
    input: Dict[str, JsonValue]

class StartMany(TypedDict):
    executions: List[StartOptions]
    version: NotRequired[Union[int, None]]

class StartManyDryRun(TypedDict):
    dry_run: Literal[True]
    count: int
    version: int

class StartOne(TypedDict):
    input: NotRequired[Dict[str, JsonValue]]
    correlation: NotRequired[str]
    key: NotRequired[Union[str, None]]
    at: NotRequired[Union[str, None]]
    version: NotRequired[Union[int, None]]

class StartOptions(TypedDict):
    input: NotRequired[Dict[str, JsonValue]]
    correlation: NotRequired[str]
    key: NotRequired[Union[str, None]]
    at: NotRequired[Union[str, None]]

class StartOutcome(TypedDict):
    execution: str
    new: bool
    refused: bool

class StartedMany(TypedDict):
    started: int
    existing: int
    refused: int
    items: List[StartOutcome]

class StateAt(TypedDict):
    input: Dict[str, JsonValue]
    vars: Dict[str, JsonValue]
    steps: Dict[str, JsonValue]
    events: Dict[str, JsonValue]
    visits: Dict[str, int]
    visit: int
    attempt: int
    status: Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled']
    step: str
    outcome: str
    error: str
    waits_for: Literal['', 'time', 'event', 'effect', 'retry']
    wake_tick: Union[int, None]
    wake_at: Union[str, None]
    entries: int
    head: str
    execution: str
    tick: int
    at: str
    ticks: List[int]

class Stats(TypedDict):
    now: str
    endpoints: Dict[str, int]
    failing: int
    running: int
    late: int
    runs: Dict[str, int]

Status = Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled']

class StepTaken(TypedDict):
    act: str
    kind: str
    name: str
    renamed_from: Union[str, None]
    fields: List[FieldChanged]

class TemplateText(TypedDict):
    name: str
    text: str

class TemplatesView(TypedDict):
    slot_at: str
    texts: List[TemplateText]
    fault: Union[str, None]

class TenantChoice(TypedDict):
    tenant: str

class TenantNew(TypedDict):
    id: str
    name: NotRequired[str]

class TenantSpend(TypedDict):
    month: str
    sessions: int
    tokens_in: int
    tokens_out: int
    tokens: int
    tokens_max: Union[int, None]
    cost_usd: float
    tenant: str

class TenantView(TypedDict):
    id: str
    name: str
    runs_per_month: Union[int, None]
    tokens_per_month: Union[int, None]
    endpoints_max: Union[int, None]
    interval_ms_min: Union[int, None]
    runs_this_month: int
    signing_keys: int

class TestDryRun(TypedDict):
    dry_run: Literal[True]
    would_call: RequestView
    templates: Union[TemplatesView, None]

class TimelineEntryView(TypedDict):
    number: int
    tick: int
    at: str
    step: str
    action: str
    actor: str
    until_at: Union[str, None]
    text: str

class ToolCalled(TypedDict):
    tool: str
    arguments: Dict[str, JsonValue]
    result: str

class TotalView(TypedDict):
    count: int
    is_exact: bool

class Upcoming(TypedDict):
    at: str
    endpoint_id: str
    endpoint: str
    job: str
    source: str

class UpcomingRunsView(TypedDict):
    now: str
    failures: Union[int, None]
    runs: List[PlannedRunView]
    excluded: List[ExcludedDayView]

class Usage(TypedDict):
    tenant: str
    name: str
    signing_keys: int
    quotas: Quotas
    runs_this_month: int
    endpoints: int

class UserNew(TypedDict):
    email: str
    name: NotRequired[str]
    operator: NotRequired[bool]
    tenant: NotRequired[Union[str, None]]
    role: NotRequired[Literal['viewer', 'operator', 'owner']]

class UserPatch(TypedDict):
    name: NotRequired[Union[str, None]]
    disabled: NotRequired[Union[bool, None]]
    operator: NotRequired[Union[bool, None]]

class UserView(TypedDict):
    id: str
    email: str
    name: str
    operator: bool
    disabled: bool
    has_password: bool
    oidc: bool
    created_at: str

Verb = Literal['run', 'pause', 'resume', 'clear-hints', 'reset-failures']

class VerdictView(TypedDict):
    valid: bool
    entries: int
    first_tick: Union[int, None]
    last_tick: Union[int, None]
    erased: int
    ticks: int
    checkpoints: int
    breach: Union[BreachView, None]

class WaitView(TypedDict):
    cause: Literal['scheduler', 'host', 'rate', 'tenant', 'tenant_slow', 'tenant_new', 'slow', 'new', 'places']
    name: str
    limit: str
    in_flight: int
    since: Union[str, None]
    waiting: int
    setting: Union[str, None]
    text: str
    advice: str

class WebhookCreated(TypedDict):
    enabled: bool
    disabled_reason: Union[str, None]
    failing_since: Union[str, None]
    failure_count: int
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str
    id: str
    name: str
    url: str
    connection: Union[str, None]
    types: List[str]
    description: str
    secret: Union[str, None]

class WebhookNew(TypedDict):
    url: str
    types: NotRequired[Union[List[str], None]]
    description: NotRequired[Union[str, None]]
    enabled: NotRequired[Union[bool, None]]
    connection: NotRequired[Union[str, None]]
    name: NotRequired[Union[str, None]]

class WebhookPatch(TypedDict):
    url: NotRequired[Union[str, None]]
    types: NotRequired[Union[List[str], None]]
    description: NotRequired[Union[str, None]]
    enabled: NotRequired[Union[bool, None]]
    connection: NotRequired[Union[str, None]]
    name: NotRequired[Union[str, None]]
    new_secret: NotRequired[bool]

class WebhookView(TypedDict):
    enabled: bool
    disabled_reason: Union[str, None]
    failing_since: Union[str, None]
    failure_count: int
    managed_by: Union[str, None]
    version: int
    created_at: str
    updated_at: str
    id: str
    name: str
    url: str
    connection: Union[str, None]
    types: List[str]
    description: str

class Whoami(TypedDict):
    actor: str
    tenant: Union[str, None]
    scopes: List[Literal['read', 'run', 'write', 'admin']]
    operator: bool
    user: Union[UserView, None]
    tenants: List[MembershipView]
    sole_tenant: bool
    expires_at: Union[str, None]
    demo: bool

class WorkerView(TypedDict):
    id: str
    kind: str
    places: int
    started_at: str
    seen_at: str

class WorkflowArchived(TypedDict):
    dry_run: bool
    changed: bool
    running: int
    workflow: WorkflowView

class WorkflowChecked(TypedDict):
    name: str
    version: int
    description: str
    start: str
    reentry: Literal['allow', 'refuse']
    step_count: int
    input: Dict[str, Dict[str, JsonValue]]
    exits: List[Dict[str, JsonValue]]
    triggers: List[Dict[str, JsonValue]]
    steps: List[Dict[str, JsonValue]]
    graph: Graph

class WorkflowDetailView(TypedDict):
    name: str
    version: int
    description: str
    start: str
    reentry: Literal['allow', 'refuse']
    step_count: int
    input: Dict[str, Dict[str, JsonValue]]
    exits: List[Dict[str, JsonValue]]
    triggers: List[Dict[str, JsonValue]]
    steps: List[Dict[str, JsonValue]]
    actor: str
    created_at: str
    archived_at: Union[str, None]
    document: str

class WorkflowDiff(TypedDict):
    old: int
    new: int
    differences: List[str]

class WorkflowDocument(TypedDict):
    document: str

class WorkflowDryRun(TypedDict):
    dry_run: Literal[True]
    new: bool
    before: Union[WorkflowView, None]
    after: WorkflowRules
    differences: List[str]

class WorkflowPublished(TypedDict):
    name: str
    version: int
    description: str
    start: str
    reentry: Literal['allow', 'refuse']
    step_count: int
    input: Dict[str, Dict[str, JsonValue]]
    exits: List[Dict[str, JsonValue]]
    triggers: List[Dict[str, JsonValue]]
    steps: List[Dict[str, JsonValue]]
    actor: str
    created_at: str
    archived_at: Union[str, None]
    document: str
    new: bool

class WorkflowRules(TypedDict):
    name: str
    version: int
    description: str
    start: str
    reentry: Literal['allow', 'refuse']
    step_count: int
    input: Dict[str, Dict[str, JsonValue]]
    exits: List[Dict[str, JsonValue]]
    triggers: List[Dict[str, JsonValue]]
    steps: List[Dict[str, JsonValue]]

class WorkflowSimulationRequest(TypedDict):
    document: NotRequired[Union[str, None]]
    workflow: NotRequired[Union[str, None]]
    version: NotRequired[Union[int, None]]
    input: NotRequired[Dict[str, JsonValue]]
    events: NotRequired[List[SimulatedEventInput]]
    answers: NotRequired[Dict[str, List[EffectAnswerInput]]]

class WorkflowView(TypedDict):
    name: str
    version: int
    description: str
    start: str
    reentry: Literal['allow', 'refuse']
    step_count: int
    actor: str
    created_at: str
    archived_at: Union[str, None]

class Problem(TypedDict):
    type: Literal['/problems/malformed-request', '/problems/not-authenticated', '/problems/code-required', '/problems/forbidden', '/problems/not-found', '/problems/method-not-allowed', '/problems/request-timeout', '/problems/conflict', '/problems/outdated', '/problems/too-large', '/problems/unsupported-media-type', '/problems/wrong-host', '/problems/invalid-input', '/problems/too-many-requests', '/problems/quota-exceeded', '/problems/misconfigured', '/problems/internal-error', '/problems/store-unavailable', '/problems/stopping']
    title: str
    status: int
    detail: str
    request_id: str
    errors: NotRequired[List[Dict[str, Any]]]
    subject: NotRequired[str]
    suggestion: NotRequired[Any]
    allowed: NotRequired[List[str]]

class JobsGroup:
    def list(self) -> PageOf_JobView: ...
    @overload
    def create(self, *, description: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> JobView: ...
    @overload
    def create(self, *, description: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> JobDryRun: ...
    def read(self, job: str) -> JobView: ...
    @overload
    def update(self, job: str, *, description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> JobView: ...
    @overload
    def update(self, job: str, *, description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> JobDryRun: ...
    @overload
    def pause(self, job: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> JobView: ...
    @overload
    def pause(self, job: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> JobDryRun: ...
    @overload
    def resume(self, job: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> JobView: ...
    @overload
    def resume(self, job: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> JobDryRun: ...
    @overload
    def archive(self, job: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> JobView: ...
    @overload
    def archive(self, job: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> JobDryRun: ...

class ConnectionsGroup:
    def list(self) -> PageOf_ConnectionView: ...
    @overload
    def create(self, *, base_url: str, description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> ConnectionView: ...
    @overload
    def create(self, *, base_url: str, description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_ConnectionView: ...
    def read(self, connection: str) -> ConnectionDetailView: ...
    @overload
    def update(self, connection: str, *, base_url: Union[str, None] = ..., description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> ConnectionView: ...
    @overload
    def update(self, connection: str, *, base_url: Union[str, None] = ..., description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> DryRunOf_ConnectionView: ...
    @overload
    def delete(self, connection: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Deleted: ...
    @overload
    def delete(self, connection: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_ConnectionView: ...
    def test(self, connection: str, *, path: Union[str, None] = ..., idempotency_key: str = ...) -> ConnectionTest: ...

class CalendarsGroup:
    def list(self) -> PageOf_CalendarView: ...
    @overload
    def create(self, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> CalendarView: ...
    @overload
    def create(self, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_CalendarView: ...
    def read(self, calendar: str) -> CalendarDetailView: ...
    @overload
    def update(self, calendar: str, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> CalendarView: ...
    @overload
    def update(self, calendar: str, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> DryRunOf_CalendarView: ...
    @overload
    def delete(self, calendar: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Deleted: ...
    @overload
    def delete(self, calendar: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_CalendarView: ...
    def preview(self, calendar: str, *, since: Union[str, None] = ..., days: int = ...) -> ListOf_CalendarDayView: ...

class EndpointsGroup:
    def list(self, *, job: Union[str, None] = ..., state: Union[Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived', 'running', 'failing', 'adapting'], None] = ..., text: Union[str, None] = ..., sort: Literal['name', '-name', 'next_run_at', '-next_run_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_EndpointView: ...
    def iterate(self, *, job: Union[str, None] = ..., state: Union[Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived', 'running', 'failing', 'adapting'], None] = ..., text: Union[str, None] = ..., sort: Literal['name', '-name', 'next_run_at', '-next_run_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[EndpointView]: ...
    @overload
    def create(self, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: str, url: Union[str, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def create(self, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: str, url: Union[str, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    def check(self, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: str, url: Union[str, None] = ..., idempotency_key: str = ...) -> EndpointChecked: ...
    def read(self, endpoint: str) -> EndpointView: ...
    @overload
    def update(self, endpoint: str, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: Union[str, None] = ..., url: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def update(self, endpoint: str, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: Union[str, None] = ..., url: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def delete(self, endpoint: str, *, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Deleted: ...
    @overload
    def delete(self, endpoint: str, *, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def archive(self, endpoint: str, *, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def archive(self, endpoint: str, *, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def pause(self, endpoint: str, *, until: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., reason: str = ..., advice_may_resume: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def pause(self, endpoint: str, *, until: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., reason: str = ..., advice_may_resume: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def resume(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def resume(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def reset_failures(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def reset_failures(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def run(self, endpoint: str, *, wait: bool | int | str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> RunRequested: ...
    @overload
    def run(self, endpoint: str, *, wait: bool | int | str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def test(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> RunDetailView: ...
    @overload
    def test(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> TestDryRun: ...
    def explain_decision(self, endpoint: str) -> DecisionView: ...
    def preview(self, endpoint: str, *, count: int = ..., failures: Union[int, None] = ...) -> UpcomingRunsView: ...
    def read_health(self, endpoint: str) -> HealthView: ...
    def read_ping_url(self, endpoint: str) -> PingUrlView: ...
    def create_ping_url(self, endpoint: str, *, idempotency_key: str = ...) -> PingUrlView: ...
    def revoke_ping_url(self, endpoint: str, *, idempotency_key: str = ...) -> PingUrlView: ...
    def list_kinds(self) -> ListOf_KindView: ...

class CallsGroup:
    def list(self, *, state: Union[Literal['waiting', 'done', 'cancelled'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_CallView: ...
    def iterate(self, *, state: Union[Literal['waiting', 'done', 'cancelled'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[CallView]: ...
    def create(self, *, calls: Sequence[CallNew], dry_run: bool = ..., idempotency_key: str = ...) -> PlacedCalls: ...
    def read(self, call: str) -> CallView: ...
    @overload
    def cancel(self, call: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> CallView: ...
    @overload
    def cancel(self, call: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_CallView: ...

class HintsGroup:
    @overload
    def put_interval(self, endpoint: str, *, every: Union[int, str], ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def put_interval(self, endpoint: str, *, every: Union[int, str], ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def put_one_shot(self, endpoint: str, *, at: Union[str, None] = ..., after: Union[Union[int, str], None] = ..., ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def put_one_shot(self, endpoint: str, *, at: Union[str, None] = ..., after: Union[Union[int, str], None] = ..., ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def clear(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EndpointView: ...
    @overload
    def clear(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...

class RulesGroup:
    def list(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_RuleView: ...
    def iterate(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[RuleView]: ...
    @overload
    def create(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rule: Mapping[str, JsonValue], dry_run: Literal[False] = ..., idempotency_key: str = ...) -> RuleView: ...
    @overload
    def create(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rule: Mapping[str, JsonValue], dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_RuleView: ...
    def check(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rules: Union[Sequence[Mapping[str, JsonValue]], None] = ..., limit: int = ..., idempotency_key: str = ...) -> RulesChecked: ...
    def test(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rules: Union[Sequence[Mapping[str, JsonValue]], None] = ..., limit: int = ..., idempotency_key: str = ...) -> RulesTested: ...
    def draft(self, *, endpoint: str, idempotency_key: str = ...) -> RulesDrafted: ...
    def read(self, rule_id: str) -> RuleView: ...
    @overload
    def update(self, rule_id: str, *, rule: Mapping[str, JsonValue], dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> RuleView: ...
    @overload
    def update(self, rule_id: str, *, rule: Mapping[str, JsonValue], dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> DryRunOf_RuleView: ...
    @overload
    def delete(self, rule_id: str, *, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Deleted: ...
    @overload
    def delete(self, rule_id: str, *, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> DryRunOf_RuleView: ...

class PlannerGroup:
    def read(self) -> PlannerStatus: ...
    def list_spend(self) -> ListOf_TenantSpend: ...
    @overload
    def set_tenant_mode(self, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> ModeSet: ...
    @overload
    def set_tenant_mode(self, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> ModeDryRun: ...
    def set_mode_for_all(self, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., idempotency_key: str = ...) -> ModeSet: ...
    @overload
    def set_endpoint_mode(self, endpoint: str, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> ModeSet: ...
    @overload
    def set_endpoint_mode(self, endpoint: str, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> ModeDryRun: ...
    def look_at_endpoint(self, endpoint: str, *, idempotency_key: str = ...) -> PlannerSession: ...
    def read_shadow_results(self, *, endpoint: Union[str, None] = ..., limit: int = ...) -> ShadowResults: ...

class SessionsGroup:
    def list_planner(self, *, endpoint: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_PlannerSession: ...
    def iterate_planner(self, *, endpoint: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[PlannerSession]: ...
    def read_planner(self, session: str) -> PlannerSession: ...
    def list_endpoint(self, endpoint: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_PlannerSession: ...
    def iterate_endpoint(self, endpoint: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[PlannerSession]: ...

class ProposalsGroup:
    def list(self, *, endpoint: Union[str, None] = ..., state: Union[Literal['pending', 'approved', 'rejected', 'expired', 'superseded', 'withdrawn'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_PlannerProposal: ...
    def iterate(self, *, endpoint: Union[str, None] = ..., state: Union[Literal['pending', 'approved', 'rejected', 'expired', 'superseded', 'withdrawn'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[PlannerProposal]: ...
    def read(self, proposal: str) -> PlannerProposal: ...
    @overload
    def approve(self, proposal: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> PlannerProposal: ...
    @overload
    def approve(self, proposal: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...
    @overload
    def reject(self, proposal: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> PlannerProposal: ...
    @overload
    def reject(self, proposal: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EndpointDryRun: ...

class SimulationsGroup:
    def list(self) -> ListOf_ScenarioView: ...
    def run(self, *, scenario: Union[str, None] = ..., document: Union[str, None] = ..., seed: int = ..., idempotency_key: str = ...) -> Played: ...
    def read(self, scenario: str) -> ScenarioDetailView: ...
    def run_backtest(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rules: Union[Sequence[Mapping[str, JsonValue]], None] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., limit: int = ..., idempotency_key: str = ...) -> Backtest: ...

class BulkGroup:
    def act_on_endpoints(self, *, ids: Union[Sequence[str], None] = ..., matching: Union[Matching, None] = ..., verb: Verb, until: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., reason: str = ..., dry_run: bool = ..., cursor: Union[str, None] = ..., idempotency_key: str = ...) -> BulkDone: ...
    def archive_endpoints(self, *, ids: Union[Sequence[str], None] = ..., matching: Union[Matching, None] = ..., dry_run: bool = ..., cursor: Union[str, None] = ..., idempotency_key: str = ...) -> BulkDone: ...

class RunsGroup:
    def list(self, *, endpoint: Union[str, None] = ..., status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_RunView: ...
    def iterate(self, *, endpoint: Union[str, None] = ..., status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[RunView]: ...
    def list_of_endpoint(self, endpoint: str, *, status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_RunView: ...
    def iterate_of_endpoint(self, endpoint: str, *, status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[RunView]: ...
    def read(self, run: str) -> RunDetailView: ...
    def read_body(self, run: str) -> BodyView: ...
    def download_body(self, run: str) -> bytes: ...

class EventsGroup:
    def list(self, *, type: Union[EventType, None] = ..., endpoint: Union[str, None] = ..., start: Literal['newest', 'oldest'] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_EventView: ...
    def stream(self, *, types: Union[Sequence[str], None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cursor: Union[str, None] = ..., tenant: Union[str, None] = ..., last_event_id: Union[str, None] = ...) -> Iterator[Any]: ...

class WorkflowsGroup:
    def list(self, *, archived: bool = ...) -> PageOf_WorkflowView: ...
    @overload
    def publish(self, *, document: str, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> WorkflowPublished: ...
    @overload
    def publish(self, *, document: str, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> WorkflowDryRun: ...
    def check(self, *, document: str, idempotency_key: str = ...) -> WorkflowChecked: ...
    def simulate(self, *, document: Union[str, None] = ..., workflow: Union[str, None] = ..., version: Union[int, None] = ..., input: Mapping[str, JsonValue] = ..., events: Sequence[SimulatedEventInput] = ..., answers: Mapping[str, Sequence[EffectAnswerInput]] = ..., idempotency_key: str = ...) -> Simulated: ...
    def read(self, workflow: str) -> WorkflowDetailView: ...
    def list_versions(self, workflow: str) -> PageOf_WorkflowView: ...
    def read_version(self, workflow: str, version: str) -> WorkflowDetailView: ...
    def diff(self, workflow: str, *, old: Union[int, None] = ..., new: Union[int, None] = ...) -> WorkflowDiff: ...
    def read_graph(self, workflow: str, *, version: Union[int, None] = ...) -> Graph: ...
    @overload
    def start_execution(self, workflow: str, *, input: Mapping[str, JsonValue] = ..., correlation: str = ..., key: Union[str, None] = ..., at: Union[str, None] = ..., version: Union[int, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> ExecutionStarted: ...
    @overload
    def start_execution(self, workflow: str, *, input: Mapping[str, JsonValue] = ..., correlation: str = ..., key: Union[str, None] = ..., at: Union[str, None] = ..., version: Union[int, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> StartDryRun: ...
    @overload
    def start_executions(self, workflow: str, *, executions: Sequence[StartOptions], version: Union[int, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> StartedMany: ...
    @overload
    def start_executions(self, workflow: str, *, executions: Sequence[StartOptions], version: Union[int, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> StartManyDryRun: ...
    def archive(self, workflow: str, *, dry_run: bool = ..., idempotency_key: str = ...) -> WorkflowArchived: ...
    def restore(self, workflow: str, *, dry_run: bool = ..., idempotency_key: str = ...) -> WorkflowArchived: ...
    def replay(self, workflow: str, *, version: Union[int, None] = ..., document: Union[str, None] = ..., limit: int = ..., idempotency_key: str = ...) -> ReplayedMany: ...

class ExecutionsGroup:
    def list(self, *, workflow: Union[str, None] = ..., status: Union[Status, None] = ..., correlation: Union[str, None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., sort: Literal['-created_at', 'created_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_ExecutionView: ...
    def iterate(self, *, workflow: Union[str, None] = ..., status: Union[Status, None] = ..., correlation: Union[str, None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., sort: Literal['-created_at', 'created_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[ExecutionView]: ...
    def list_in_need(self, *, workflow: Union[str, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_ExecutionView: ...
    def iterate_in_need(self, *, workflow: Union[str, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[ExecutionView]: ...
    @overload
    def send_event(self, *, to: str, type: str, data: Mapping[str, JsonValue] = ..., id: str = ..., occurred_at: Union[str, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EventSent: ...
    @overload
    def send_event(self, *, to: str, type: str, data: Mapping[str, JsonValue] = ..., id: str = ..., occurred_at: Union[str, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EventDryRun: ...
    @overload
    def send_events(self, *, events: Sequence[EventNew], dry_run: Literal[False] = ..., idempotency_key: str = ...) -> EventsSent: ...
    @overload
    def send_events(self, *, events: Sequence[EventNew], dry_run: Literal[True], idempotency_key: str = ...) -> EventsDryRun: ...
    @overload
    def order(self, *, verb: Literal['pause', 'resume', 'cancel', 'retry', 'skip'], workflow: Union[str, None] = ..., correlation: Union[str, None] = ..., status: Union[Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled'], None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., reason: str = ..., limit: int = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> BulkCommandSent: ...
    @overload
    def order(self, *, verb: Literal['pause', 'resume', 'cancel', 'retry', 'skip'], workflow: Union[str, None] = ..., correlation: Union[str, None] = ..., status: Union[Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled'], None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., reason: str = ..., limit: int = ..., dry_run: Literal[True], idempotency_key: str = ...) -> BulkCommandDryRun: ...
    def read(self, execution: str) -> ExecutionDetailView: ...
    @overload
    def pause(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> CommandSent: ...
    @overload
    def pause(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> CommandDryRun: ...
    @overload
    def resume(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> CommandSent: ...
    @overload
    def resume(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> CommandDryRun: ...
    @overload
    def cancel(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> CommandSent: ...
    @overload
    def cancel(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> CommandDryRun: ...
    @overload
    def retry(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> CommandSent: ...
    @overload
    def retry(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> CommandDryRun: ...
    @overload
    def skip(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> CommandSent: ...
    @overload
    def skip(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> CommandDryRun: ...
    def list_timeline(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_TimelineEntryView: ...
    def iterate_timeline(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[TimelineEntryView]: ...
    def list_log(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_LogEntryView: ...
    def iterate_log(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[LogEntryView]: ...
    def read_state(self, execution: str, *, tick: Union[int, None] = ...) -> StateAt: ...
    def verify(self, execution: str) -> VerdictView: ...
    def replay(self, execution: str, *, version: Union[int, None] = ..., document: Union[str, None] = ..., idempotency_key: str = ...) -> Replayed: ...
    def export(self, execution: str) -> ExecutionExport: ...
    @overload
    def erase(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Erased: ...
    @overload
    def erase(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> EraseDryRun: ...

class PartitionsGroup:
    def list(self) -> ListOf_PartitionStatus: ...
    def export_checkpoints(self) -> SignedCheckpoints: ...
    def verify(self, *, partition: Union[int, None] = ..., checkpoints: Sequence[KeptCheckpoint] = ..., idempotency_key: str = ...) -> ListOf_PartitionVerified: ...

class WebhooksGroup:
    def list(self) -> PageOf_WebhookView: ...
    @overload
    def create(self, *, url: str, types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> WebhookCreated: ...
    @overload
    def create(self, *, url: str, types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_WebhookView: ...
    def read(self, webhook: str) -> WebhookView: ...
    @overload
    def update(self, webhook: str, *, url: Union[str, None] = ..., types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., new_secret: bool = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> WebhookCreated: ...
    @overload
    def update(self, webhook: str, *, url: Union[str, None] = ..., types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., new_secret: bool = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> DryRunOf_WebhookView: ...
    @overload
    def delete(self, webhook: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Deleted: ...
    @overload
    def delete(self, webhook: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_WebhookView: ...
    def test(self, webhook: str, *, idempotency_key: str = ...) -> DeliveryTest: ...
    def list_deliveries(self, webhook: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_DeliveryView: ...
    def iterate_deliveries(self, webhook: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[DeliveryView]: ...
    def list_all_deliveries(self, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_DeliveryView: ...
    def iterate_all_deliveries(self, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[DeliveryView]: ...
    def read_delivery(self, delivery: str) -> DeliveryDetailView: ...
    @overload
    def redeliver_delivery(self, delivery: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> DeliveryView: ...
    @overload
    def redeliver_delivery(self, delivery: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_DeliveryView: ...

class AlertsGroup:
    def list(self) -> PageOf_AlertView: ...
    @overload
    def create(self, *, to: Sequence[str], kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> AlertView: ...
    @overload
    def create(self, *, to: Sequence[str], kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_AlertView: ...
    def read(self, alert: str) -> AlertView: ...
    @overload
    def update(self, alert: str, *, to: Union[Sequence[str], None] = ..., kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> AlertView: ...
    @overload
    def update(self, alert: str, *, to: Union[Sequence[str], None] = ..., kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> DryRunOf_AlertView: ...
    @overload
    def delete(self, alert: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Deleted: ...
    @overload
    def delete(self, alert: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_AlertView: ...
    def test(self, alert: str, *, idempotency_key: str = ...) -> AlertTest: ...
    def list_deliveries(self, alert: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> CountedPage_DeliveryView: ...
    def iterate_deliveries(self, alert: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[DeliveryView]: ...

class MaintenanceGroup:
    def list(self) -> PageOf_MaintenanceView: ...
    @overload
    def create(self, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> MaintenanceView: ...
    @overload
    def create(self, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_MaintenanceView: ...
    def read(self, window: str) -> MaintenanceView: ...
    @overload
    def update(self, window: str, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> MaintenanceView: ...
    @overload
    def update(self, window: str, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> DryRunOf_MaintenanceView: ...
    @overload
    def delete(self, window: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Deleted: ...
    @overload
    def delete(self, window: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_MaintenanceView: ...

class DashboardGroup:
    def read_stats(self) -> Stats: ...
    def read_activity(self, *, hours: int = ..., limit: int = ...) -> Activity: ...
    def list_recent_runs(self, *, endpoint: Sequence[str] = ..., limit: int = ...) -> PageOf_RecentRuns: ...
    def list_upcoming(self, *, limit: int = ...) -> PageOf_Upcoming: ...

class ConfigGroup:
    def apply(self, *, document: str = ..., files: Sequence[DocumentFile] = ..., references: Mapping[str, str] = ..., source: Union[str, None] = ..., prune: bool = ..., take_over: bool = ..., dry_run: bool = ..., idempotency_key: str = ...) -> Applied: ...
    def export(self, *, source: Union[str, None] = ...) -> bytes: ...
    def read_schema(self) -> Dict[str, Any]: ...

class TenantGroup:
    def read_usage(self) -> Usage: ...
    def read_quotas(self) -> Quotas: ...
    @overload
    def update_quotas(self, *, runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[Union[int, str], None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Quotas: ...
    @overload
    def update_quotas(self, *, runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[Union[int, str], None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> QuotasDryRun: ...

class SystemGroup:
    def list_workers(self) -> PageOf_WorkerView: ...

class AuthGroup:
    def log_in(self, *, email: str, password: str, code: str = ..., passkey: Union[AssertionGiven, None] = ...) -> Whoami: ...
    def set_up(self, *, token: str, password: str, email: Union[str, None] = ..., name: str = ...) -> Whoami: ...
    def read_link(self, *, token: str) -> LinkView: ...
    def accept_invitation(self, *, token: str) -> Whoami: ...
    def choose_tenant(self, *, tenant: str) -> Whoami: ...
    def log_out(self) -> None: ...
    def read_session(self) -> Whoami: ...
    def read_second_factor(self) -> FactorState: ...
    def begin_second_factor(self) -> FactorBegun: ...
    def confirm_second_factor(self, *, code: str) -> FactorConfirmed: ...
    def disable_second_factor(self, *, code: str) -> FactorState: ...
    def list_login_sessions(self) -> ListOf_LoginSessionView: ...
    def end_other_sessions(self) -> SessionsEnded: ...
    def end_login_session(self, login: str) -> SessionsEnded: ...
    def change_password(self, *, current: str = ..., password: str) -> Whoami: ...
    def begin_passkey_login(self) -> PasskeyChallenge: ...
    def log_in_with_passkey(self, *, passkey: AssertionGiven) -> Whoami: ...
    def list_passkeys(self) -> PasskeyList: ...
    def create_passkey(self, *, name: str, challenge: str, client_data: str, attestation: str) -> PasskeyAdded: ...
    def begin_passkey(self, *, password: str) -> PasskeyChallenge: ...
    def update_passkey(self, passkey: str, *, name: str) -> PasskeyView: ...
    def remove_passkey(self, passkey: str, *, password: str) -> PasskeyView: ...

class UsersGroup:
    def list(self) -> ListOf_UserView: ...
    @overload
    def create(self, *, email: str, name: str = ..., operator: bool = ..., tenant: Union[str, None] = ..., role: Literal['viewer', 'operator', 'owner'] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Invited: ...
    @overload
    def create(self, *, email: str, name: str = ..., operator: bool = ..., tenant: Union[str, None] = ..., role: Literal['viewer', 'operator', 'owner'] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_UserView: ...
    def read(self, user: str) -> UserView: ...
    @overload
    def update(self, user: str, *, name: Union[str, None] = ..., disabled: Union[bool, None] = ..., operator: Union[bool, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> UserView: ...
    @overload
    def update(self, user: str, *, name: Union[str, None] = ..., disabled: Union[bool, None] = ..., operator: Union[bool, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_UserView: ...
    @overload
    def create_link(self, user: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Invited: ...
    @overload
    def create_link(self, user: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_UserView: ...
    @overload
    def reset_second_factor(self, user: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> UserView: ...
    @overload
    def reset_second_factor(self, user: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_UserView: ...
    def list_members(self) -> ListOf_MemberView: ...
    @overload
    def create_member(self, *, email: str, role: Literal['viewer', 'operator', 'owner'], name: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> MemberAdded: ...
    @overload
    def create_member(self, *, email: str, role: Literal['viewer', 'operator', 'owner'], name: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_MemberView: ...
    @overload
    def update_member(self, user: str, *, role: Literal['viewer', 'operator', 'owner'], dry_run: Literal[False] = ..., idempotency_key: str = ...) -> MemberView: ...
    @overload
    def update_member(self, user: str, *, role: Literal['viewer', 'operator', 'owner'], dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_MemberView: ...
    @overload
    def remove_member(self, user: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> MemberView: ...
    @overload
    def remove_member(self, user: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_MemberView: ...

class KeysGroup:
    def list_api(self) -> ListOf_ApiKeyView: ...
    @overload
    def create_api(self, *, name: str, scopes: Sequence[Literal['read', 'run', 'write', 'admin']] = ..., expires_in: Union[int, str] = ..., operator: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> ApiKeyCreated: ...
    @overload
    def create_api(self, *, name: str, scopes: Sequence[Literal['read', 'run', 'write', 'admin']] = ..., expires_in: Union[int, str] = ..., operator: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_ApiKeyView: ...
    @overload
    def revoke_api(self, key: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> ApiKeyView: ...
    @overload
    def revoke_api(self, key: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_ApiKeyView: ...
    def list_signing(self) -> ListOf_SigningKey: ...
    @overload
    def create_signing(self, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> SigningKeyCreated: ...
    @overload
    def create_signing(self, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_SigningKey: ...
    @overload
    def revoke_signing(self, key: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Revoked: ...
    @overload
    def revoke_signing(self, key: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_SigningKey: ...

class TenantsGroup:
    def list(self) -> ListOf_TenantView: ...
    @overload
    def create(self, *, id: str, name: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> TenantView: ...
    @overload
    def create(self, *, id: str, name: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_TenantView: ...
    def read(self, tenant: str) -> TenantView: ...
    @overload
    def update(self, tenant: str, *, name: Union[str, None] = ..., runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[int, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> TenantView: ...
    @overload
    def update(self, tenant: str, *, name: Union[str, None] = ..., runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[int, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> DryRunOf_TenantView: ...
    def list_audit_entries(self, *, installation: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> PageOf_AuditEntryView: ...
    def iterate_audit_entries(self, *, installation: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Iterator[AuditEntryView]: ...
    def verify_audit(self, *, installation: bool = ...) -> AuditVerdict: ...

class Groups:
    jobs: JobsGroup
    connections: ConnectionsGroup
    calendars: CalendarsGroup
    endpoints: EndpointsGroup
    calls: CallsGroup
    hints: HintsGroup
    rules: RulesGroup
    planner: PlannerGroup
    sessions: SessionsGroup
    proposals: ProposalsGroup
    simulations: SimulationsGroup
    bulk: BulkGroup
    runs: RunsGroup
    events: EventsGroup
    workflows: WorkflowsGroup
    executions: ExecutionsGroup
    partitions: PartitionsGroup
    webhooks: WebhooksGroup
    alerts: AlertsGroup
    maintenance: MaintenanceGroup
    dashboard: DashboardGroup
    config: ConfigGroup
    tenant: TenantGroup
    system: SystemGroup
    auth: AuthGroup
    users: UsersGroup
    keys: KeysGroup
    tenants: TenantsGroup

class AsyncJobsGroup:
    def list(self) -> Coroutine[Any, Any, PageOf_JobView]: ...
    @overload
    def create(self, *, description: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, JobView]: ...
    @overload
    def create(self, *, description: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, JobDryRun]: ...
    def read(self, job: str) -> Coroutine[Any, Any, JobView]: ...
    @overload
    def update(self, job: str, *, description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, JobView]: ...
    @overload
    def update(self, job: str, *, description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, JobDryRun]: ...
    @overload
    def pause(self, job: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, JobView]: ...
    @overload
    def pause(self, job: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, JobDryRun]: ...
    @overload
    def resume(self, job: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, JobView]: ...
    @overload
    def resume(self, job: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, JobDryRun]: ...
    @overload
    def archive(self, job: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, JobView]: ...
    @overload
    def archive(self, job: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, JobDryRun]: ...

class AsyncConnectionsGroup:
    def list(self) -> Coroutine[Any, Any, PageOf_ConnectionView]: ...
    @overload
    def create(self, *, base_url: str, description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ConnectionView]: ...
    @overload
    def create(self, *, base_url: str, description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_ConnectionView]: ...
    def read(self, connection: str) -> Coroutine[Any, Any, ConnectionDetailView]: ...
    @overload
    def update(self, connection: str, *, base_url: Union[str, None] = ..., description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ConnectionView]: ...
    @overload
    def update(self, connection: str, *, base_url: Union[str, None] = ..., description: Union[str, None] = ..., auth: Literal['none', 'header', 'basic', 'digest', 'oauth2', 'aws'] = ..., secret: Union[str, None] = ..., header: Union[str, None] = ..., username: Union[str, None] = ..., token_url: Union[str, None] = ..., client_id: Union[str, None] = ..., scope: Union[str, None] = ..., audience: Union[str, None] = ..., access_key_id: Union[str, None] = ..., region: Union[str, None] = ..., service: Union[str, None] = ..., ca: Union[str, None] = ..., tls_min: Literal['1.2', '1.3'] = ..., client_certificate: Union[str, None] = ..., client_key: Union[str, None] = ..., proxy: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_ConnectionView]: ...
    @overload
    def delete(self, connection: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Deleted]: ...
    @overload
    def delete(self, connection: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_ConnectionView]: ...
    def test(self, connection: str, *, path: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ConnectionTest]: ...

class AsyncCalendarsGroup:
    def list(self) -> Coroutine[Any, Any, PageOf_CalendarView]: ...
    @overload
    def create(self, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CalendarView]: ...
    @overload
    def create(self, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_CalendarView]: ...
    def read(self, calendar: str) -> Coroutine[Any, Any, CalendarDetailView]: ...
    @overload
    def update(self, calendar: str, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CalendarView]: ...
    @overload
    def update(self, calendar: str, *, dates: Union[Sequence[str], None] = ..., weekdays: Union[Sequence[Literal['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']], None] = ..., holidays: Union[str, None] = ..., ics: Union[str, None] = ..., description: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_CalendarView]: ...
    @overload
    def delete(self, calendar: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Deleted]: ...
    @overload
    def delete(self, calendar: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_CalendarView]: ...
    def preview(self, calendar: str, *, since: Union[str, None] = ..., days: int = ...) -> Coroutine[Any, Any, ListOf_CalendarDayView]: ...

class AsyncEndpointsGroup:
    def list(self, *, job: Union[str, None] = ..., state: Union[Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived', 'running', 'failing', 'adapting'], None] = ..., text: Union[str, None] = ..., sort: Literal['name', '-name', 'next_run_at', '-next_run_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_EndpointView]: ...
    def iterate(self, *, job: Union[str, None] = ..., state: Union[Literal['active', 'paused', 'job-paused', 'parked', 'deferred', 'done', 'archived', 'running', 'failing', 'adapting'], None] = ..., text: Union[str, None] = ..., sort: Literal['name', '-name', 'next_run_at', '-next_run_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[EndpointView]: ...
    @overload
    def create(self, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: str, url: Union[str, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def create(self, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: str, url: Union[str, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    def check(self, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: str, url: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointChecked]: ...
    def read(self, endpoint: str) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def update(self, endpoint: str, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: Union[str, None] = ..., url: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def update(self, endpoint: str, *, kind: Literal['http', 'tcp', 'tls', 'dns', 'ping', 'command', 'queue', 'heartbeat'] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., timezone: Union[str, None] = ..., job: Union[str, None] = ..., description: Union[str, None] = ..., runbook: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., backoff: Literal['default', 'monitor', 'none'] = ..., jitter: Union[Union[int, str], None] = ..., spread: Union[bool, None] = ..., misfire: Literal['run_once', 'skip', 'catch_up'] = ..., catch_up_max: Union[int, None] = ..., max_lateness: Union[Union[int, str], None] = ..., on_lost_worker: Literal['retry', 'skip'] = ..., advice: Union[Sequence[Literal['interval', 'run', 'wake', 'pause', 'siblings']], None] = ..., retry: Union[RetrySettings, None] = ..., at: Union[str, None] = ..., confirm: Union[str, None] = ..., except_: Union[str, None] = ..., only: Union[str, None] = ..., shift: Literal['skip', 'next_business_day', 'previous_business_day'] = ..., method: Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] = ..., body: Union[str, None] = ..., timeout: Union[Union[int, str], None] = ..., body_cap: Union[int, None] = ..., redirects_max: Union[int, None] = ..., accept_codes: Union[Sequence[int], None] = ..., condition: Union[str, None] = ..., connection: Union[str, None] = ..., contains: Union[str, None] = ..., matches: Union[str, None] = ..., warn_days: Union[int, None] = ..., fail_days: Union[int, None] = ..., completes: Literal['response', 'callback'] = ..., callback_timeout: Union[Union[int, str], None] = ..., literal: Union[bool, None] = ..., host: Union[str, None] = ..., port: Union[int, None] = ..., send: Union[str, None] = ..., expect: Union[str, None] = ..., read: Union[bool, None] = ..., tls: Union[bool, None] = ..., server_name: Union[str, None] = ..., verify: Union[bool, None] = ..., record: Literal['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'NS', 'SRV', 'CAA'] = ..., resolver: Union[str, None] = ..., answers: Union[Sequence[str], None] = ..., answers_match: Literal['all', 'exact', 'any'] = ..., count: Union[int, None] = ..., spacing: Union[Union[int, str], None] = ..., max_loss: Union[int, None] = ..., command: Union[Sequence[str], None] = ..., shell: Union[bool, None] = ..., folder: Union[str, None] = ..., user: Union[str, None] = ..., exit_codes: Union[Sequence[int], None] = ..., broker: Union[str, None] = ..., destination: Union[str, None] = ..., structure: Literal['stream', 'list'] = ..., exchange: Union[str, None] = ..., username: Union[str, None] = ..., grace: Union[Union[int, str], None] = ..., max_duration: Union[Union[int, str], None] = ..., headers: Union[Sequence[HeaderGiven], None] = ..., environment: Union[Sequence[HeaderGiven], None] = ..., name: Union[str, None] = ..., url: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def delete(self, endpoint: str, *, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Deleted]: ...
    @overload
    def delete(self, endpoint: str, *, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def archive(self, endpoint: str, *, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def archive(self, endpoint: str, *, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def pause(self, endpoint: str, *, until: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., reason: str = ..., advice_may_resume: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def pause(self, endpoint: str, *, until: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., reason: str = ..., advice_may_resume: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def resume(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def resume(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def reset_failures(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def reset_failures(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def run(self, endpoint: str, *, wait: bool | int | str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, RunRequested]: ...
    @overload
    def run(self, endpoint: str, *, wait: bool | int | str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def test(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, RunDetailView]: ...
    @overload
    def test(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, TestDryRun]: ...
    def explain_decision(self, endpoint: str) -> Coroutine[Any, Any, DecisionView]: ...
    def preview(self, endpoint: str, *, count: int = ..., failures: Union[int, None] = ...) -> Coroutine[Any, Any, UpcomingRunsView]: ...
    def read_health(self, endpoint: str) -> Coroutine[Any, Any, HealthView]: ...
    def read_ping_url(self, endpoint: str) -> Coroutine[Any, Any, PingUrlView]: ...
    def create_ping_url(self, endpoint: str, *, idempotency_key: str = ...) -> Coroutine[Any, Any, PingUrlView]: ...
    def revoke_ping_url(self, endpoint: str, *, idempotency_key: str = ...) -> Coroutine[Any, Any, PingUrlView]: ...
    def list_kinds(self) -> Coroutine[Any, Any, ListOf_KindView]: ...

class AsyncCallsGroup:
    def list(self, *, state: Union[Literal['waiting', 'done', 'cancelled'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_CallView]: ...
    def iterate(self, *, state: Union[Literal['waiting', 'done', 'cancelled'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[CallView]: ...
    def create(self, *, calls: Sequence[CallNew], dry_run: bool = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, PlacedCalls]: ...
    def read(self, call: str) -> Coroutine[Any, Any, CallView]: ...
    @overload
    def cancel(self, call: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CallView]: ...
    @overload
    def cancel(self, call: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_CallView]: ...

class AsyncHintsGroup:
    @overload
    def put_interval(self, endpoint: str, *, every: Union[int, str], ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def put_interval(self, endpoint: str, *, every: Union[int, str], ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def put_one_shot(self, endpoint: str, *, at: Union[str, None] = ..., after: Union[Union[int, str], None] = ..., ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def put_one_shot(self, endpoint: str, *, at: Union[str, None] = ..., after: Union[Union[int, str], None] = ..., ttl: Union[int, str] = ..., reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def clear(self, endpoint: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointView]: ...
    @overload
    def clear(self, endpoint: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...

class AsyncRulesGroup:
    def list(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_RuleView]: ...
    def iterate(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[RuleView]: ...
    @overload
    def create(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rule: Mapping[str, JsonValue], dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, RuleView]: ...
    @overload
    def create(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rule: Mapping[str, JsonValue], dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_RuleView]: ...
    def check(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rules: Union[Sequence[Mapping[str, JsonValue]], None] = ..., limit: int = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, RulesChecked]: ...
    def test(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rules: Union[Sequence[Mapping[str, JsonValue]], None] = ..., limit: int = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, RulesTested]: ...
    def draft(self, *, endpoint: str, idempotency_key: str = ...) -> Coroutine[Any, Any, RulesDrafted]: ...
    def read(self, rule_id: str) -> Coroutine[Any, Any, RuleView]: ...
    @overload
    def update(self, rule_id: str, *, rule: Mapping[str, JsonValue], dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, RuleView]: ...
    @overload
    def update(self, rule_id: str, *, rule: Mapping[str, JsonValue], dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_RuleView]: ...
    @overload
    def delete(self, rule_id: str, *, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Deleted]: ...
    @overload
    def delete(self, rule_id: str, *, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_RuleView]: ...

class AsyncPlannerGroup:
    def read(self) -> Coroutine[Any, Any, PlannerStatus]: ...
    def list_spend(self) -> Coroutine[Any, Any, ListOf_TenantSpend]: ...
    @overload
    def set_tenant_mode(self, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ModeSet]: ...
    @overload
    def set_tenant_mode(self, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, ModeDryRun]: ...
    def set_mode_for_all(self, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ModeSet]: ...
    @overload
    def set_endpoint_mode(self, endpoint: str, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ModeSet]: ...
    @overload
    def set_endpoint_mode(self, endpoint: str, *, mode: Literal['live', 'ask', 'shadow', 'off'], undo: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, ModeDryRun]: ...
    def look_at_endpoint(self, endpoint: str, *, idempotency_key: str = ...) -> Coroutine[Any, Any, PlannerSession]: ...
    def read_shadow_results(self, *, endpoint: Union[str, None] = ..., limit: int = ...) -> Coroutine[Any, Any, ShadowResults]: ...

class AsyncSessionsGroup:
    def list_planner(self, *, endpoint: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_PlannerSession]: ...
    def iterate_planner(self, *, endpoint: Union[str, None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[PlannerSession]: ...
    def read_planner(self, session: str) -> Coroutine[Any, Any, PlannerSession]: ...
    def list_endpoint(self, endpoint: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_PlannerSession]: ...
    def iterate_endpoint(self, endpoint: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[PlannerSession]: ...

class AsyncProposalsGroup:
    def list(self, *, endpoint: Union[str, None] = ..., state: Union[Literal['pending', 'approved', 'rejected', 'expired', 'superseded', 'withdrawn'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_PlannerProposal]: ...
    def iterate(self, *, endpoint: Union[str, None] = ..., state: Union[Literal['pending', 'approved', 'rejected', 'expired', 'superseded', 'withdrawn'], None] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[PlannerProposal]: ...
    def read(self, proposal: str) -> Coroutine[Any, Any, PlannerProposal]: ...
    @overload
    def approve(self, proposal: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, PlannerProposal]: ...
    @overload
    def approve(self, proposal: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...
    @overload
    def reject(self, proposal: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, PlannerProposal]: ...
    @overload
    def reject(self, proposal: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EndpointDryRun]: ...

class AsyncSimulationsGroup:
    def list(self) -> Coroutine[Any, Any, ListOf_ScenarioView]: ...
    def run(self, *, scenario: Union[str, None] = ..., document: Union[str, None] = ..., seed: int = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Played]: ...
    def read(self, scenario: str) -> Coroutine[Any, Any, ScenarioDetailView]: ...
    def run_backtest(self, *, endpoint: Union[str, None] = ..., job: Union[str, None] = ..., rules: Union[Sequence[Mapping[str, JsonValue]], None] = ..., every: Union[Union[int, str], None] = ..., cron: Union[str, None] = ..., min_interval: Union[Union[int, str], None] = ..., max_interval: Union[Union[int, str], None] = ..., limit: int = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Backtest]: ...

class AsyncBulkGroup:
    def act_on_endpoints(self, *, ids: Union[Sequence[str], None] = ..., matching: Union[Matching, None] = ..., verb: Verb, until: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., reason: str = ..., dry_run: bool = ..., cursor: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, BulkDone]: ...
    def archive_endpoints(self, *, ids: Union[Sequence[str], None] = ..., matching: Union[Matching, None] = ..., dry_run: bool = ..., cursor: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, BulkDone]: ...

class AsyncRunsGroup:
    def list(self, *, endpoint: Union[str, None] = ..., status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_RunView]: ...
    def iterate(self, *, endpoint: Union[str, None] = ..., status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[RunView]: ...
    def list_of_endpoint(self, endpoint: str, *, status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_RunView]: ...
    def iterate_of_endpoint(self, endpoint: str, *, status: Union[Literal['running', 'success', 'failure', 'timeout', 'blocked', 'abandoned', 'retried', 'superseded', 'unknown', 'missed', 'failed'], None] = ..., trigger: Union[RunTrigger, None] = ..., since: Union[str, None] = ..., until: Union[str, None] = ..., sort: Literal['-started_at', 'started_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[RunView]: ...
    def read(self, run: str) -> Coroutine[Any, Any, RunDetailView]: ...
    def read_body(self, run: str) -> Coroutine[Any, Any, BodyView]: ...
    def download_body(self, run: str) -> Coroutine[Any, Any, bytes]: ...

class AsyncEventsGroup:
    def list(self, *, type: Union[EventType, None] = ..., endpoint: Union[str, None] = ..., start: Literal['newest', 'oldest'] = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_EventView]: ...
    def stream(self, *, types: Union[Sequence[str], None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cursor: Union[str, None] = ..., tenant: Union[str, None] = ..., last_event_id: Union[str, None] = ...) -> AsyncIterator[Any]: ...

class AsyncWorkflowsGroup:
    def list(self, *, archived: bool = ...) -> Coroutine[Any, Any, PageOf_WorkflowView]: ...
    @overload
    def publish(self, *, document: str, dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, WorkflowPublished]: ...
    @overload
    def publish(self, *, document: str, dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, WorkflowDryRun]: ...
    def check(self, *, document: str, idempotency_key: str = ...) -> Coroutine[Any, Any, WorkflowChecked]: ...
    def simulate(self, *, document: Union[str, None] = ..., workflow: Union[str, None] = ..., version: Union[int, None] = ..., input: Mapping[str, JsonValue] = ..., events: Sequence[SimulatedEventInput] = ..., answers: Mapping[str, Sequence[EffectAnswerInput]] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Simulated]: ...
    def read(self, workflow: str) -> Coroutine[Any, Any, WorkflowDetailView]: ...
    def list_versions(self, workflow: str) -> Coroutine[Any, Any, PageOf_WorkflowView]: ...
    def read_version(self, workflow: str, version: str) -> Coroutine[Any, Any, WorkflowDetailView]: ...
    def diff(self, workflow: str, *, old: Union[int, None] = ..., new: Union[int, None] = ...) -> Coroutine[Any, Any, WorkflowDiff]: ...
    def read_graph(self, workflow: str, *, version: Union[int, None] = ...) -> Coroutine[Any, Any, Graph]: ...
    @overload
    def start_execution(self, workflow: str, *, input: Mapping[str, JsonValue] = ..., correlation: str = ..., key: Union[str, None] = ..., at: Union[str, None] = ..., version: Union[int, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ExecutionStarted]: ...
    @overload
    def start_execution(self, workflow: str, *, input: Mapping[str, JsonValue] = ..., correlation: str = ..., key: Union[str, None] = ..., at: Union[str, None] = ..., version: Union[int, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, StartDryRun]: ...
    @overload
    def start_executions(self, workflow: str, *, executions: Sequence[StartOptions], version: Union[int, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, StartedMany]: ...
    @overload
    def start_executions(self, workflow: str, *, executions: Sequence[StartOptions], version: Union[int, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, StartManyDryRun]: ...
    def archive(self, workflow: str, *, dry_run: bool = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, WorkflowArchived]: ...
    def restore(self, workflow: str, *, dry_run: bool = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, WorkflowArchived]: ...
    def replay(self, workflow: str, *, version: Union[int, None] = ..., document: Union[str, None] = ..., limit: int = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ReplayedMany]: ...

class AsyncExecutionsGroup:
    def list(self, *, workflow: Union[str, None] = ..., status: Union[Status, None] = ..., correlation: Union[str, None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., sort: Literal['-created_at', 'created_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_ExecutionView]: ...
    def iterate(self, *, workflow: Union[str, None] = ..., status: Union[Status, None] = ..., correlation: Union[str, None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., sort: Literal['-created_at', 'created_at'] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[ExecutionView]: ...
    def list_in_need(self, *, workflow: Union[str, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_ExecutionView]: ...
    def iterate_in_need(self, *, workflow: Union[str, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[ExecutionView]: ...
    @overload
    def send_event(self, *, to: str, type: str, data: Mapping[str, JsonValue] = ..., id: str = ..., occurred_at: Union[str, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EventSent]: ...
    @overload
    def send_event(self, *, to: str, type: str, data: Mapping[str, JsonValue] = ..., id: str = ..., occurred_at: Union[str, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EventDryRun]: ...
    @overload
    def send_events(self, *, events: Sequence[EventNew], dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, EventsSent]: ...
    @overload
    def send_events(self, *, events: Sequence[EventNew], dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EventsDryRun]: ...
    @overload
    def order(self, *, verb: Literal['pause', 'resume', 'cancel', 'retry', 'skip'], workflow: Union[str, None] = ..., correlation: Union[str, None] = ..., status: Union[Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled'], None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., reason: str = ..., limit: int = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, BulkCommandSent]: ...
    @overload
    def order(self, *, verb: Literal['pause', 'resume', 'cancel', 'retry', 'skip'], workflow: Union[str, None] = ..., correlation: Union[str, None] = ..., status: Union[Literal['pending', 'active', 'waiting', 'paused', 'completed', 'failed', 'cancelled'], None] = ..., version: Union[int, None] = ..., step: Union[str, None] = ..., reason: str = ..., limit: int = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, BulkCommandDryRun]: ...
    def read(self, execution: str) -> Coroutine[Any, Any, ExecutionDetailView]: ...
    @overload
    def pause(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CommandSent]: ...
    @overload
    def pause(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, CommandDryRun]: ...
    @overload
    def resume(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CommandSent]: ...
    @overload
    def resume(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, CommandDryRun]: ...
    @overload
    def cancel(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CommandSent]: ...
    @overload
    def cancel(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, CommandDryRun]: ...
    @overload
    def retry(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CommandSent]: ...
    @overload
    def retry(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, CommandDryRun]: ...
    @overload
    def skip(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, CommandSent]: ...
    @overload
    def skip(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, CommandDryRun]: ...
    def list_timeline(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_TimelineEntryView]: ...
    def iterate_timeline(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[TimelineEntryView]: ...
    def list_log(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_LogEntryView]: ...
    def iterate_log(self, execution: str, *, limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[LogEntryView]: ...
    def read_state(self, execution: str, *, tick: Union[int, None] = ...) -> Coroutine[Any, Any, StateAt]: ...
    def verify(self, execution: str) -> Coroutine[Any, Any, VerdictView]: ...
    def replay(self, execution: str, *, version: Union[int, None] = ..., document: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Replayed]: ...
    def export(self, execution: str) -> Coroutine[Any, Any, ExecutionExport]: ...
    @overload
    def erase(self, execution: str, *, reason: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Erased]: ...
    @overload
    def erase(self, execution: str, *, reason: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, EraseDryRun]: ...

class AsyncPartitionsGroup:
    def list(self) -> Coroutine[Any, Any, ListOf_PartitionStatus]: ...
    def export_checkpoints(self) -> Coroutine[Any, Any, SignedCheckpoints]: ...
    def verify(self, *, partition: Union[int, None] = ..., checkpoints: Sequence[KeptCheckpoint] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ListOf_PartitionVerified]: ...

class AsyncWebhooksGroup:
    def list(self) -> Coroutine[Any, Any, PageOf_WebhookView]: ...
    @overload
    def create(self, *, url: str, types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, WebhookCreated]: ...
    @overload
    def create(self, *, url: str, types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_WebhookView]: ...
    def read(self, webhook: str) -> Coroutine[Any, Any, WebhookView]: ...
    @overload
    def update(self, webhook: str, *, url: Union[str, None] = ..., types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., new_secret: bool = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, WebhookCreated]: ...
    @overload
    def update(self, webhook: str, *, url: Union[str, None] = ..., types: Union[Sequence[str], None] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., connection: Union[str, None] = ..., name: Union[str, None] = ..., new_secret: bool = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_WebhookView]: ...
    @overload
    def delete(self, webhook: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Deleted]: ...
    @overload
    def delete(self, webhook: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_WebhookView]: ...
    def test(self, webhook: str, *, idempotency_key: str = ...) -> Coroutine[Any, Any, DeliveryTest]: ...
    def list_deliveries(self, webhook: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_DeliveryView]: ...
    def iterate_deliveries(self, webhook: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[DeliveryView]: ...
    def list_all_deliveries(self, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_DeliveryView]: ...
    def iterate_all_deliveries(self, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[DeliveryView]: ...
    def read_delivery(self, delivery: str) -> Coroutine[Any, Any, DeliveryDetailView]: ...
    @overload
    def redeliver_delivery(self, delivery: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DeliveryView]: ...
    @overload
    def redeliver_delivery(self, delivery: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_DeliveryView]: ...

class AsyncAlertsGroup:
    def list(self) -> Coroutine[Any, Any, PageOf_AlertView]: ...
    @overload
    def create(self, *, to: Sequence[str], kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, AlertView]: ...
    @overload
    def create(self, *, to: Sequence[str], kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_AlertView]: ...
    def read(self, alert: str) -> Coroutine[Any, Any, AlertView]: ...
    @overload
    def update(self, alert: str, *, to: Union[Sequence[str], None] = ..., kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, AlertView]: ...
    @overload
    def update(self, alert: str, *, to: Union[Sequence[str], None] = ..., kinds: Union[Sequence[Literal['failing', 'recovered', 'parked', 'late', 'quota', 'webhook_disabled', 'stopped', 'advice_paused', 'model_failing', 'overdue', 'proposal_waiting', 'expiring']], None] = ..., failures: Union[int, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., cooldown: Union[Union[int, str], None] = ..., quiet: Union[str, None] = ..., timezone: Union[str, None] = ..., during_quiet: Literal['digest', 'drop'] = ..., description: Union[str, None] = ..., enabled: Union[bool, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_AlertView]: ...
    @overload
    def delete(self, alert: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Deleted]: ...
    @overload
    def delete(self, alert: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_AlertView]: ...
    def test(self, alert: str, *, idempotency_key: str = ...) -> Coroutine[Any, Any, AlertTest]: ...
    def list_deliveries(self, alert: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, CountedPage_DeliveryView]: ...
    def iterate_deliveries(self, alert: str, *, status: Union[DeliveryStatus, None] = ..., with_total: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[DeliveryView]: ...

class AsyncMaintenanceGroup:
    def list(self) -> Coroutine[Any, Any, PageOf_MaintenanceView]: ...
    @overload
    def create(self, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, MaintenanceView]: ...
    @overload
    def create(self, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: str, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_MaintenanceView]: ...
    def read(self, window: str) -> Coroutine[Any, Any, MaintenanceView]: ...
    @overload
    def update(self, window: str, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[False] = ..., if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, MaintenanceView]: ...
    @overload
    def update(self, window: str, *, cron: Union[str, None] = ..., duration: Union[Union[int, str], None] = ..., timezone: Union[str, None] = ..., start: Union[str, None] = ..., end: Union[str, None] = ..., endpoint: Union[str, None] = ..., job: Union[str, None] = ..., runs: Literal['continue', 'skip'] = ..., description: Union[str, None] = ..., name: Union[str, None] = ..., dry_run: Literal[True], if_match: Union[str, None] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_MaintenanceView]: ...
    @overload
    def delete(self, window: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Deleted]: ...
    @overload
    def delete(self, window: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_MaintenanceView]: ...

class AsyncDashboardGroup:
    def read_stats(self) -> Coroutine[Any, Any, Stats]: ...
    def read_activity(self, *, hours: int = ..., limit: int = ...) -> Coroutine[Any, Any, Activity]: ...
    def list_recent_runs(self, *, endpoint: Sequence[str] = ..., limit: int = ...) -> Coroutine[Any, Any, PageOf_RecentRuns]: ...
    def list_upcoming(self, *, limit: int = ...) -> Coroutine[Any, Any, PageOf_Upcoming]: ...

class AsyncConfigGroup:
    def apply(self, *, document: str = ..., files: Sequence[DocumentFile] = ..., references: Mapping[str, str] = ..., source: Union[str, None] = ..., prune: bool = ..., take_over: bool = ..., dry_run: bool = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Applied]: ...
    def export(self, *, source: Union[str, None] = ...) -> Coroutine[Any, Any, bytes]: ...
    def read_schema(self) -> Coroutine[Any, Any, Dict[str, Any]]: ...

class AsyncTenantGroup:
    def read_usage(self) -> Coroutine[Any, Any, Usage]: ...
    def read_quotas(self) -> Coroutine[Any, Any, Quotas]: ...
    @overload
    def update_quotas(self, *, runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[Union[int, str], None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Quotas]: ...
    @overload
    def update_quotas(self, *, runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[Union[int, str], None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, QuotasDryRun]: ...

class AsyncSystemGroup:
    def list_workers(self) -> Coroutine[Any, Any, PageOf_WorkerView]: ...

class AsyncAuthGroup:
    def log_in(self, *, email: str, password: str, code: str = ..., passkey: Union[AssertionGiven, None] = ...) -> Coroutine[Any, Any, Whoami]: ...
    def set_up(self, *, token: str, password: str, email: Union[str, None] = ..., name: str = ...) -> Coroutine[Any, Any, Whoami]: ...
    def read_link(self, *, token: str) -> Coroutine[Any, Any, LinkView]: ...
    def accept_invitation(self, *, token: str) -> Coroutine[Any, Any, Whoami]: ...
    def choose_tenant(self, *, tenant: str) -> Coroutine[Any, Any, Whoami]: ...
    def log_out(self) -> Coroutine[Any, Any, None]: ...
    def read_session(self) -> Coroutine[Any, Any, Whoami]: ...
    def read_second_factor(self) -> Coroutine[Any, Any, FactorState]: ...
    def begin_second_factor(self) -> Coroutine[Any, Any, FactorBegun]: ...
    def confirm_second_factor(self, *, code: str) -> Coroutine[Any, Any, FactorConfirmed]: ...
    def disable_second_factor(self, *, code: str) -> Coroutine[Any, Any, FactorState]: ...
    def list_login_sessions(self) -> Coroutine[Any, Any, ListOf_LoginSessionView]: ...
    def end_other_sessions(self) -> Coroutine[Any, Any, SessionsEnded]: ...
    def end_login_session(self, login: str) -> Coroutine[Any, Any, SessionsEnded]: ...
    def change_password(self, *, current: str = ..., password: str) -> Coroutine[Any, Any, Whoami]: ...
    def begin_passkey_login(self) -> Coroutine[Any, Any, PasskeyChallenge]: ...
    def log_in_with_passkey(self, *, passkey: AssertionGiven) -> Coroutine[Any, Any, Whoami]: ...
    def list_passkeys(self) -> Coroutine[Any, Any, PasskeyList]: ...
    def create_passkey(self, *, name: str, challenge: str, client_data: str, attestation: str) -> Coroutine[Any, Any, PasskeyAdded]: ...
    def begin_passkey(self, *, password: str) -> Coroutine[Any, Any, PasskeyChallenge]: ...
    def update_passkey(self, passkey: str, *, name: str) -> Coroutine[Any, Any, PasskeyView]: ...
    def remove_passkey(self, passkey: str, *, password: str) -> Coroutine[Any, Any, PasskeyView]: ...

class AsyncUsersGroup:
    def list(self) -> Coroutine[Any, Any, ListOf_UserView]: ...
    @overload
    def create(self, *, email: str, name: str = ..., operator: bool = ..., tenant: Union[str, None] = ..., role: Literal['viewer', 'operator', 'owner'] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Invited]: ...
    @overload
    def create(self, *, email: str, name: str = ..., operator: bool = ..., tenant: Union[str, None] = ..., role: Literal['viewer', 'operator', 'owner'] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_UserView]: ...
    def read(self, user: str) -> Coroutine[Any, Any, UserView]: ...
    @overload
    def update(self, user: str, *, name: Union[str, None] = ..., disabled: Union[bool, None] = ..., operator: Union[bool, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, UserView]: ...
    @overload
    def update(self, user: str, *, name: Union[str, None] = ..., disabled: Union[bool, None] = ..., operator: Union[bool, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_UserView]: ...
    @overload
    def create_link(self, user: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Invited]: ...
    @overload
    def create_link(self, user: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_UserView]: ...
    @overload
    def reset_second_factor(self, user: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, UserView]: ...
    @overload
    def reset_second_factor(self, user: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_UserView]: ...
    def list_members(self) -> Coroutine[Any, Any, ListOf_MemberView]: ...
    @overload
    def create_member(self, *, email: str, role: Literal['viewer', 'operator', 'owner'], name: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, MemberAdded]: ...
    @overload
    def create_member(self, *, email: str, role: Literal['viewer', 'operator', 'owner'], name: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_MemberView]: ...
    @overload
    def update_member(self, user: str, *, role: Literal['viewer', 'operator', 'owner'], dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, MemberView]: ...
    @overload
    def update_member(self, user: str, *, role: Literal['viewer', 'operator', 'owner'], dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_MemberView]: ...
    @overload
    def remove_member(self, user: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, MemberView]: ...
    @overload
    def remove_member(self, user: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_MemberView]: ...

class AsyncKeysGroup:
    def list_api(self) -> Coroutine[Any, Any, ListOf_ApiKeyView]: ...
    @overload
    def create_api(self, *, name: str, scopes: Sequence[Literal['read', 'run', 'write', 'admin']] = ..., expires_in: Union[int, str] = ..., operator: bool = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ApiKeyCreated]: ...
    @overload
    def create_api(self, *, name: str, scopes: Sequence[Literal['read', 'run', 'write', 'admin']] = ..., expires_in: Union[int, str] = ..., operator: bool = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_ApiKeyView]: ...
    @overload
    def revoke_api(self, key: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, ApiKeyView]: ...
    @overload
    def revoke_api(self, key: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_ApiKeyView]: ...
    def list_signing(self) -> Coroutine[Any, Any, ListOf_SigningKey]: ...
    @overload
    def create_signing(self, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, SigningKeyCreated]: ...
    @overload
    def create_signing(self, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_SigningKey]: ...
    @overload
    def revoke_signing(self, key: str, *, dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, Revoked]: ...
    @overload
    def revoke_signing(self, key: str, *, dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_SigningKey]: ...

class AsyncTenantsGroup:
    def list(self) -> Coroutine[Any, Any, ListOf_TenantView]: ...
    @overload
    def create(self, *, id: str, name: str = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, TenantView]: ...
    @overload
    def create(self, *, id: str, name: str = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_TenantView]: ...
    def read(self, tenant: str) -> Coroutine[Any, Any, TenantView]: ...
    @overload
    def update(self, tenant: str, *, name: Union[str, None] = ..., runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[int, None] = ..., dry_run: Literal[False] = ..., idempotency_key: str = ...) -> Coroutine[Any, Any, TenantView]: ...
    @overload
    def update(self, tenant: str, *, name: Union[str, None] = ..., runs_per_month: Union[int, None] = ..., tokens_per_month: Union[int, None] = ..., endpoints_max: Union[int, None] = ..., interval_ms_min: Union[int, None] = ..., dry_run: Literal[True], idempotency_key: str = ...) -> Coroutine[Any, Any, DryRunOf_TenantView]: ...
    def list_audit_entries(self, *, installation: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> Coroutine[Any, Any, PageOf_AuditEntryView]: ...
    def iterate_audit_entries(self, *, installation: bool = ..., limit: int = ..., cursor: Union[str, None] = ...) -> AsyncIterator[AuditEntryView]: ...
    def verify_audit(self, *, installation: bool = ...) -> Coroutine[Any, Any, AuditVerdict]: ...

class AsyncGroups:
    jobs: AsyncJobsGroup
    connections: AsyncConnectionsGroup
    calendars: AsyncCalendarsGroup
    endpoints: AsyncEndpointsGroup
    calls: AsyncCallsGroup
    hints: AsyncHintsGroup
    rules: AsyncRulesGroup
    planner: AsyncPlannerGroup
    sessions: AsyncSessionsGroup
    proposals: AsyncProposalsGroup
    simulations: AsyncSimulationsGroup
    bulk: AsyncBulkGroup
    runs: AsyncRunsGroup
    events: AsyncEventsGroup
    workflows: AsyncWorkflowsGroup
    executions: AsyncExecutionsGroup
    partitions: AsyncPartitionsGroup
    webhooks: AsyncWebhooksGroup
    alerts: AsyncAlertsGroup
    maintenance: AsyncMaintenanceGroup
    dashboard: AsyncDashboardGroup
    config: AsyncConfigGroup
    tenant: AsyncTenantGroup
    system: AsyncSystemGroup
    auth: AsyncAuthGroup
    users: AsyncUsersGroup
    keys: AsyncKeysGroup
    tenants: AsyncTenantsGroup
