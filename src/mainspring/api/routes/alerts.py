"""Alerts: notify people when something fails, recovers, is late or exceeds a quota."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from msgspec.structs import replace

from mainspring.api.access import Reading, Running, Writing
from mainspring.api.context import Context
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.fields import Cursor, DryRun, Limit, WithTotal
from mainspring.api.models.requests import AlertNew, AlertPatch
from mainspring.api.routes.webhooks import Status, deliveries_of, etag
from mainspring.domain.config_field import values_of
from mainspring.domain.notify.subscription import ALERT_FIELDS, AlertDraft, SubscriptionKind
from mainspring.operations import alerts, subscriptions
from mainspring.views.notification import AlertTest, AlertView, DeliveryView
from mainspring.views.view import CountedPage, Deleted, DryRunOf, PageOf

router = APIRouter(prefix="/alerts", tags=["alerts"])
AlertRef = Annotated[str, Path(alias="alert", max_length=1_000, description="Id or name of an alert.")]


@router.get("")
async def list_alerts(desk: Reading) -> PageOf[AlertView]:
    """All alerts, by name."""
    found = await subscriptions.list_subscriptions(desk, SubscriptionKind.ALERT)
    return PageOf(items=[AlertView.of(each) for each in found], next_cursor=None)


@router.post("", status_code=201, responses={200: {"model": DryRunOf[AlertView]}})
async def create_alert(
    desk: Writing, wish: AlertNew, request: Request, response: Response, dry_run: DryRun = False
) -> AlertView | DryRunOf[AlertView]:
    """Create an alert, which notifies its destinations once per change of state."""
    context: Context = request.app.state.context
    draft = replace(AlertDraft(wish.name, ()), **values_of(ALERT_FIELDS, wish.sent()))
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    made = await alerts.add_alert(there, context.messengers, draft)
    if dry_run:
        response.status_code = 200
        return DryRunOf[AlertView].of(None, AlertView.of(made))
    response.headers["ETag"] = etag(made)
    response.headers["Location"] = f"/api/v1/alerts/{made.id}"
    return AlertView.of(made)


@router.get("/{alert}")
async def read_alert(desk: Reading, alert: AlertRef, response: Response) -> AlertView:
    found = await alerts.find_alert(desk, alert)
    response.headers["ETag"] = etag(found)
    return AlertView.of(found)


@router.patch("/{alert}")
async def update_alert(
    desk: Writing,
    alert: AlertRef,
    wish: AlertPatch,
    request: Request,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> AlertView | DryRunOf[AlertView]:
    """Change an alert. Fields that are missing or null stay unchanged."""
    found = await alerts.find_alert(desk, alert)
    refuse_other(if_match, etag(found), "alert", found.name)
    context: Context = request.app.state.context
    given = values_of(ALERT_FIELDS, wish.sent() | {"name": wish.name})
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    edited = await alerts.edit_alert(there, context.messengers, found.id, lambda draft: replace(draft, **given))
    if dry_run:
        return DryRunOf[AlertView].of(AlertView.of(found), AlertView.of(edited))
    response.headers["ETag"] = etag(edited)
    return AlertView.of(edited)


@router.delete("/{alert}")
async def delete_alert(desk: Writing, alert: AlertRef, dry_run: DryRun = False) -> Deleted | DryRunOf[AlertView]:
    """Delete an alert with its deliveries; pending ones are not sent any more."""
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    found = await subscriptions.delete_subscription(there, SubscriptionKind.ALERT, alert)
    if dry_run:
        return DryRunOf[AlertView].of(AlertView.of(found), None)
    return Deleted.of(found)


@router.post("/{alert}/test")
async def test_alert(desk: Running, alert: AlertRef, request: Request) -> AlertTest:
    """Send a test message to every destination now, ignoring quiet hours, and return the result of each."""
    context: Context = request.app.state.context
    return AlertTest.of(await alerts.test_alert(desk, context.caller, context.messengers, alert))


@router.get("/{alert}/deliveries")
async def list_alert_deliveries(
    desk: Reading,
    alert: AlertRef,
    status: Status = None,
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CountedPage[DeliveryView]:
    """Deliveries of an alert, newest first, with the result of each."""
    return await deliveries_of(desk, await alerts.find_alert(desk, alert), status, limit, cursor, with_total)
