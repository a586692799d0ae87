"""Webhooks: receivers of events, outside; and the deliveries to them and of alerts."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from msgspec.structs import replace

from mainspring.api.access import Known, Reading, Running, Writing
from mainspring.api.answers import Deleted, Page, Rehearsed
from mainspring.api.context import Context
from mainspring.api.cursors import open_cursor, seal_cursor
from mainspring.api.etags import IfMatch, refuse_other
from mainspring.api.fields import Cursor, DryRun, Limit
from mainspring.api.notices import (
    Delivery,
    DeliveryInFull,
    Tried,
    Webhook,
    WebhookMade,
    WebhookNew,
    WebhookPatch,
    WebhookRehearsed,
)
from mainspring.api.sights import compared
from mainspring.domain.access import Scope
from mainspring.domain.delivery import DeliveryStatus
from mainspring.domain.selection import names_confidential
from mainspring.domain.subscription import Subscription, SubscriptionKind
from mainspring.operations import subscriptions, webhooks
from mainspring.operations.endpoints import Desk
from mainspring.operations.signing import new_signing_secret
from mainspring.operations.webhooks import WebhookDraft
from mainspring.ports.mail import DeliveryFilter
from mainspring.shapes import Shape, delivery_shape, outcome_shape, webhook_shape

router = APIRouter(tags=["webhooks"])
WebhookRef = Annotated[str, Path(alias="webhook", max_length=1_000, description="Id or name of a webhook.")]
DeliveryRef = Annotated[str, Path(alias="delivery", max_length=200, description="Id of a delivery.")]
Status = Annotated[DeliveryStatus | None, Query(description="Only deliveries that are so.")]


@router.get("/webhooks", response_model=Page[Webhook])
async def list_webhooks(desk: Reading) -> Shape:
    """All webhooks, by name, and how delivery to them goes."""
    found = await subscriptions.list_subscriptions(desk, SubscriptionKind.WEBHOOK)
    return {"items": [webhook_shape(each) for each in found], "next_cursor": None}


@router.post("/webhooks", status_code=201, response_model=WebhookMade | WebhookRehearsed)
async def create_webhook(
    desk: Writing, wish: WebhookNew, request: Request, response: Response, dry_run: DryRun = False
) -> Shape:
    """Send events to a URL from now on. The secret that signs them is in this answer, and never again.

    Who came in and with which keys is sent only where such events are named, which needs the scope `admin`.
    """
    context: Context = request.app.state.context
    secret = new_signing_secret(context.locksmith)
    draft = WebhookDraft(wish.url, wish.name, tuple(wish.types), wish.description, wish.enabled, secret)
    if dry_run:
        response.status_code = 200
        return compared(None, webhook_shape(await webhooks.add_webhook(subscriptions.rehearsed(desk), draft)))
    made = await webhooks.add_webhook(desk, draft)
    response.headers["ETag"] = etag(made)
    response.headers["Location"] = f"/api/v1/webhooks/{made.id}"
    return {**webhook_shape(made), "secret": secret}


@router.get("/webhooks/{webhook}", response_model=Webhook)
async def read_webhook(desk: Reading, webhook: WebhookRef, response: Response) -> Shape:
    found = await webhooks.find_webhook(desk, webhook)
    response.headers["ETag"] = etag(found)
    return webhook_shape(found)


@router.patch("/webhooks/{webhook}", response_model=WebhookMade | WebhookRehearsed)
async def update_webhook(
    desk: Writing,
    webhook: WebhookRef,
    wish: WebhookPatch,
    request: Request,
    response: Response,
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Shape:
    """What is not named, or null, stays."""
    found = await webhooks.find_webhook(desk, webhook)
    refuse_other(if_match, etag(found), "webhook", found.name)
    context: Context = request.app.state.context
    given = wish.model_dump(exclude_none=True, exclude={"new_secret"})
    if "types" in given:
        given["types"] = tuple(given["types"])
    secret = new_signing_secret(context.locksmith) if wish.new_secret else ""
    there = subscriptions.rehearsed(desk) if dry_run else desk
    edited = await webhooks.edit_webhook(there, found.id, lambda draft: replace(draft, **given, secret=secret))
    if dry_run:
        return compared(webhook_shape(found), webhook_shape(edited))
    response.headers["ETag"] = etag(edited)
    return {**webhook_shape(edited), "secret": secret or None}


@router.delete("/webhooks/{webhook}", response_model=Deleted | WebhookRehearsed)
async def delete_webhook(desk: Writing, webhook: WebhookRef, dry_run: DryRun = False) -> Shape:
    """With its deliveries: what was on its way to it is not sent any more."""
    there = subscriptions.rehearsed(desk) if dry_run else desk
    found = await subscriptions.delete_subscription(there, SubscriptionKind.WEBHOOK, webhook)
    return compared(webhook_shape(found), None) if dry_run else {"id": found.id, "name": found.name, "deleted": True}


@router.post("/webhooks/{webhook}/test", response_model=Tried)
async def test_webhook(desk: Running, webhook: WebhookRef, request: Request) -> Shape:
    """Send a `webhook.test` message now, once, and tell how it went. Nothing is recorded."""
    context: Context = request.app.state.context
    return outcome_shape(await webhooks.test_webhook(desk, context.caller, webhook))


@router.get("/webhooks/{webhook}/deliveries", response_model=Page[Delivery])
async def list_webhook_deliveries(
    desk: Reading, webhook: WebhookRef, status: Status = None, limit: Limit = 50, cursor: Cursor = None
) -> Shape:
    """Newest first: what became of each message, and what the receiver said."""
    return await deliveries_of(desk, await webhooks.find_webhook(desk, webhook), status, limit, cursor)


@router.get("/deliveries", response_model=Page[Delivery])
async def list_all_deliveries(desk: Reading, status: Status = None, limit: Limit = 50, cursor: Cursor = None) -> Shape:
    """Every message to webhooks and of alerts, newest first."""
    return await deliveries_of(desk, None, status, limit, cursor)


@router.get("/deliveries/{delivery}", response_model=DeliveryInFull)
async def read_delivery(desk: Reading, principal: Known, delivery: DeliveryRef) -> Shape:
    """A message to a webhook or of an alert, with its payload."""
    found = await subscriptions.find_delivery(desk, delivery)
    if names_confidential((found.type,)):
        principal.require(Scope.ADMIN)
    return delivery_shape(found, with_payload=True)


@router.post("/deliveries/{delivery}/redeliver", status_code=202, response_model=Delivery | Rehearsed[Delivery])
async def redeliver_delivery(
    desk: Running, delivery: DeliveryRef, response: Response, dry_run: DryRun = False
) -> Shape:
    """Send a message that ended once more, with the id it had, from its first attempt on."""
    if not dry_run:
        return delivery_shape(await subscriptions.redeliver(desk, delivery))
    response.status_code = 200
    before = await subscriptions.find_delivery(desk, delivery)
    after = await subscriptions.redeliver(subscriptions.rehearsed(desk), delivery)
    return compared(delivery_shape(before), delivery_shape(after))


async def deliveries_of(
    desk: Desk, subscription: Subscription | None, status: DeliveryStatus | None, limit: int, cursor: str | None
) -> Shape:
    place = open_cursor(desk, "deliveries", cursor)
    wanted = DeliveryFilter(
        subscription.id if subscription else None, status, before_id=place[0] if place else None, limit=limit + 1
    )
    found = await subscriptions.list_deliveries(desk, wanted)
    page = found[:limit]
    more = seal_cursor(desk, "deliveries", page[-1].id) if len(found) > limit else None
    return {"items": [delivery_shape(each) for each in page], "next_cursor": more}


def etag(subscription: Subscription) -> str:
    return f'"v{subscription.version}"'
