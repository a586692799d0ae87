"""Webhooks: external receivers of events; and the deliveries of webhooks and alerts."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from msgspec.structs import replace

from mainspring.api.access import Known, Reading, Running, Writing
from mainspring.api.context import Context
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.endpoint_views import total_of
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.models.fields import Cursor, DryRun, Limit, WithTotal
from mainspring.api.models.requests import WebhookNew, WebhookPatch
from mainspring.domain.access.scope import Scope
from mainspring.domain.config_field import values_of
from mainspring.domain.notify.delivery import DeliveryStatus
from mainspring.domain.notify.event_filter import names_confidential
from mainspring.domain.notify.subscription import WEBHOOK_FIELDS, Subscription, SubscriptionKind, WebhookDraft
from mainspring.operations import subscriptions, webhooks
from mainspring.operations.context import Desk
from mainspring.operations.signing_keys import new_signing_secret
from mainspring.ports.notifications import DeliveryFilter
from mainspring.views.notification import DeliveryDetailView, DeliveryTest, DeliveryView, WebhookCreated, WebhookView
from mainspring.views.view import CountedPage, Deleted, DryRunOf, PageOf

router = APIRouter(tags=["webhooks"])
WebhookRef = Annotated[str, Path(alias="webhook", max_length=1_000, description="Id or name of a webhook.")]
DeliveryRef = Annotated[str, Path(alias="delivery", max_length=200, description="Id of a delivery.")]
Status = Annotated[DeliveryStatus | None, Query(description="Only deliveries in this state.")]


@router.get("/webhooks")
async def list_webhooks(desk: Reading) -> PageOf[WebhookView]:
    """All webhooks, by name, with their delivery statistics."""
    found = await subscriptions.list_subscriptions(desk, SubscriptionKind.WEBHOOK)
    return PageOf(items=[WebhookView.of(each) for each in found], next_cursor=None)


@router.post(
    "/webhooks",
    status_code=201,
    responses={200: {"model": DryRunOf[WebhookView]}},
)
async def create_webhook(
    desk: Writing, wish: WebhookNew, request: Request, response: Response, dry_run: DryRun = False
) -> WebhookCreated | DryRunOf[WebhookView]:
    """Send events to a URL from now on. The signing secret is only in this response.

    Events about logins and keys are sent only if they are named, which needs the scope `admin`.
    """
    context: Context = request.app.state.context
    secret = new_signing_secret(context.hasher)
    given = values_of(WEBHOOK_FIELDS, wish.sent() | {"name": wish.name})
    draft = replace(WebhookDraft(wish.url, secret=secret), **given)
    if dry_run:
        response.status_code = 200
        there = subscriptions.dry_run_of(desk)
        return DryRunOf[WebhookView].of(None, WebhookView.of(await webhooks.add_webhook(there, draft)))
    made = await webhooks.add_webhook(desk, draft)
    response.headers["ETag"] = etag(made)
    response.headers["Location"] = f"/api/v1/webhooks/{made.id}"
    return WebhookCreated.of(made, secret=secret)


@router.get("/webhooks/{webhook}")
async def read_webhook(desk: Reading, webhook: WebhookRef, response: Response) -> WebhookView:
    found = await webhooks.find_webhook(desk, webhook)
    response.headers["ETag"] = etag(found)
    return WebhookView.of(found)


@router.patch("/webhooks/{webhook}")
async def update_webhook(
    desk: Writing,
    webhook: WebhookRef,
    wish: WebhookPatch,
    request: Request,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> WebhookCreated | DryRunOf[WebhookView]:
    """Change a webhook. Fields that are missing or null stay unchanged."""
    found = await webhooks.find_webhook(desk, webhook)
    refuse_other(if_match, etag(found), "webhook", found.name)
    context: Context = request.app.state.context
    given = values_of(WEBHOOK_FIELDS, wish.sent() | {"name": wish.name})
    secret = new_signing_secret(context.hasher) if wish.new_secret else ""
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    edited = await webhooks.edit_webhook(there, found.id, lambda draft: replace(draft, **given, secret=secret))
    if dry_run:
        return DryRunOf[WebhookView].of(WebhookView.of(found), WebhookView.of(edited))
    response.headers["ETag"] = etag(edited)
    return WebhookCreated.of(edited, secret=secret or None)


@router.delete("/webhooks/{webhook}")
async def delete_webhook(
    desk: Writing, webhook: WebhookRef, dry_run: DryRun = False
) -> Deleted | DryRunOf[WebhookView]:
    """Delete a webhook with its deliveries; pending ones are not sent any more."""
    there = subscriptions.dry_run_of(desk) if dry_run else desk
    found = await subscriptions.delete_subscription(there, SubscriptionKind.WEBHOOK, webhook)
    if dry_run:
        return DryRunOf[WebhookView].of(WebhookView.of(found), None)
    return Deleted.of(found)


@router.post("/webhooks/{webhook}/test")
async def test_webhook(desk: Running, webhook: WebhookRef, request: Request) -> DeliveryTest:
    """Send a `webhook.test` message now, once, and return the result. Nothing is recorded."""
    context: Context = request.app.state.context
    return DeliveryTest.of(await webhooks.test_webhook(desk, context.caller, webhook))


@router.get("/webhooks/{webhook}/deliveries")
async def list_webhook_deliveries(
    desk: Reading,
    webhook: WebhookRef,
    status: Status = None,
    with_total: WithTotal = False,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> CountedPage[DeliveryView]:
    """Deliveries of a webhook, newest first, with the result and the receiver's response."""
    return await deliveries_of(desk, await webhooks.find_webhook(desk, webhook), status, limit, cursor, with_total)


@router.get("/deliveries")
async def list_all_deliveries(
    desk: Reading, status: Status = None, with_total: WithTotal = False, limit: Limit = 50, cursor: Cursor = None
) -> CountedPage[DeliveryView]:
    """All deliveries of webhooks and alerts, newest first."""
    return await deliveries_of(desk, None, status, limit, cursor, with_total)


@router.get("/deliveries/{delivery}")
async def read_delivery(desk: Reading, principal: Known, delivery: DeliveryRef) -> DeliveryDetailView:
    """One delivery of a webhook or an alert, with its payload."""
    found = await subscriptions.find_delivery(desk, delivery)
    if names_confidential((found.type,)):
        principal.require(Scope.ADMIN)
    return DeliveryDetailView.of(found)


@router.post(
    "/deliveries/{delivery}/redeliver",
    status_code=202,
    responses={200: {"model": DryRunOf[DeliveryView]}},
)
async def redeliver_delivery(
    desk: Running, delivery: DeliveryRef, response: Response, dry_run: DryRun = False
) -> DeliveryView | DryRunOf[DeliveryView]:
    """Send a finished delivery again, with the same id, starting from the first attempt."""
    if not dry_run:
        return DeliveryView.of(await subscriptions.redeliver(desk, delivery))
    response.status_code = 200
    before = await subscriptions.find_delivery(desk, delivery)
    after = await subscriptions.redeliver(subscriptions.dry_run_of(desk), delivery)
    return DryRunOf[DeliveryView].of(DeliveryView.of(before), DeliveryView.of(after))


async def deliveries_of(
    desk: Desk,
    subscription: Subscription | None,
    status: DeliveryStatus | None,
    limit: int,
    cursor: str | None,
    with_total: bool,
) -> CountedPage[DeliveryView]:
    place = open_cursor(desk, "deliveries", cursor)
    wanted = DeliveryFilter(
        subscription.id if subscription else None, status, before_id=place[0] if place else None, limit=limit + 1
    )
    found = await subscriptions.list_deliveries(desk, wanted)
    page = found[:limit]
    more = seal_cursor(desk, "deliveries", page[-1].id) if len(found) > limit else None
    total = await total_of(desk, wanted, with_total)
    return CountedPage(items=[DeliveryView.of(each) for each in page], next_cursor=more, total=total)


def etag(subscription: Subscription) -> str:
    return f'"v{subscription.version}"'
