"""Alerts: notify people when something fails, recovers, is late or exceeds a quota."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from msgspec.structs import replace

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.context import Context
from mainspring.api.endpoint_views import compared
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.answers import CountedPage, Deleted, PageOf
from mainspring.api.models.fields import Cursor, DryRun, Limit, WithTotal
from mainspring.api.models.notifications import AlertDryRun, AlertNew, AlertPatch, AlertTest, AlertView, DeliveryView
from mainspring.api.routes.webhooks import Status, deliveries_of, etag
from mainspring.domain.notify.subscription import SubscriptionKind
from mainspring.operations import alerts, subscriptions
from mainspring.operations.alerts import AlertDraft
from mainspring.views.shapes import Shape, alert_shape, outcome_shape

router = APIRouter(prefix="/alerts", tags=["alerts"])
AlertRef = Annotated[str, Path(alias="alert", max_length=1_000, description="Id or name of an alert.")]


@router.get("", response_model=PageOf[AlertView])
async def list_alerts(desk: Reading) -> Shape:
    """All alerts, by name."""
    found = await subscriptions.list_subscriptions(desk, SubscriptionKind.ALERT)
    return {"items": [alert_shape(each) for each in found], "next_cursor": None}


@router.post("", status_code=201, response_model=AlertView | AlertDryRun, responses={200: {"model": AlertDryRun}})
async def create_alert(
    desk: Writing, wish: AlertNew, request: Request, response: Response, dry_run: DryRun = False
) -> Shape:
    """Create an alert, which notifies its destinations once per change of state."""
    context: Context = request.app.state.context
    draft = replace(AlertDraft(wish.name, ()), **_tuples(wish.model_dump()))
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    made = await alerts.add_alert(there, context.messengers, draft)
    if dry_run:
        response.status_code = 200
        return compared(None, alert_shape(made))
    response.headers["ETag"] = etag(made)
    response.headers["Location"] = f"/api/v1/alerts/{made.id}"
    return alert_shape(made)


@router.get("/{alert}", response_model=AlertView)
async def read_alert(desk: Reading, alert: AlertRef, response: Response) -> Shape:
    found = await alerts.find_alert(desk, alert)
    response.headers["ETag"] = etag(found)
    return alert_shape(found)


@router.patch("/{alert}", response_model=AlertView | AlertDryRun)
async def update_alert(
    desk: Writing,
    alert: AlertRef,
    wish: AlertPatch,
    request: Request,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Shape:
    """Change an alert. Fields that are missing or null stay unchanged."""
    found = await alerts.find_alert(desk, alert)
    refuse_other(if_match, etag(found), "alert", found.name)
    context: Context = request.app.state.context
    given = _tuples(wish.model_dump(exclude_none=True))
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    edited = await alerts.edit_alert(there, context.messengers, found.id, lambda draft: replace(draft, **given))
    if dry_run:
        return compared(alert_shape(found), alert_shape(edited))
    response.headers["ETag"] = etag(edited)
    return alert_shape(edited)


@router.delete("/{alert}", response_model=Deleted | AlertDryRun)
async def delete_alert(desk: Writing, alert: AlertRef, dry_run: DryRun = False) -> Shape:
    """Delete an alert with its deliveries; pending ones are not sent any more."""
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    found = await subscriptions.delete_subscription(there, SubscriptionKind.ALERT, alert)
    return compared(alert_shape(found), None) if dry_run else {"id": found.id, "name": found.name, "deleted": True}


@router.post("/{alert}/test", response_model=AlertTest)
async def test_alert(desk: Running, alert: AlertRef, request: Request) -> Shape:
    """Send a test message to every destination now, ignoring quiet hours, and return the result of each."""
    context: Context = request.app.state.context
    outcomes = await alerts.test_alert(desk, context.caller, context.messengers, alert)
    ways = [{"to": channel.shown, **outcome_shape(outcome)} for channel, outcome in outcomes]
    return {"ok": all(way["ok"] for way in ways), "ways": ways}


@router.get("/{alert}/deliveries", response_model=CountedPage[DeliveryView])
async def list_alert_deliveries(
    desk: Reading,
    alert: AlertRef,
    status: Status = None,
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Shape:
    """Deliveries of an alert, newest first, with the result of each."""
    return await deliveries_of(desk, await alerts.find_alert(desk, alert), status, limit, cursor, with_total)


def _tuples(given: dict[str, object]) -> dict[str, object]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
