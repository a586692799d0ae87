"""Webhooks and alerts that two keep at once, and how many there may be."""

import pytest
from msgspec.structs import replace
from tests.operations.rival import interrupted

from mainspring.domain.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from mainspring.domain.notify.subscription import AlertDraft, DestinationKind, Subscription, SubscriptionKind
from mainspring.operations.alerts import Messengers, add_alert, edit_alert, find_alert
from mainspring.operations.context import Desk
from mainspring.operations.subscriptions import SUBSCRIPTIONS_MAX, delete_subscription
from mainspring.outbound.mail import Mailer
from mainspring.wiring.clock import SystemClock

MESSENGERS: Messengers = {DestinationKind.MAIL: Mailer("", "", clock=SystemClock().now)}
OPS = AlertDraft("ops", ("ops@example.com",))


async def delete(desk: Desk) -> Subscription:
    return await delete_subscription(desk, SubscriptionKind.ALERT, "ops")


async def rename(desk: Desk, name: str) -> Subscription:
    return await edit_alert(desk, MESSENGERS, "ops", lambda draft: replace(draft, name=name))


async def test_tenant_keeps_so_many_alerts_and_no_more(desk: Desk) -> None:
    for number in range(SUBSCRIPTIONS_MAX):
        await add_alert(desk, MESSENGERS, replace(OPS, name=f"alert {number}"))

    with pytest.raises(QuotaExceeded, match="'default' has 100 alerts, which is the maximum; delete one"):
        await add_alert(desk, MESSENGERS, OPS)


async def test_alert_that_somebody_edits_meanwhile_is_a_conflict_for_the_slower_one(desk: Desk) -> None:
    await add_alert(desk, MESSENGERS, OPS)
    slow = interrupted(desk, "put_subscription", lambda: rename(desk, "first"), "subscriptions")

    with pytest.raises(Conflict, match="alert 'second' was changed concurrently"):
        await rename(slow, "second")
    assert (await find_alert(desk, "first")).version == 2


async def test_alert_that_is_deleted_twice_at_once_is_found_once(desk: Desk) -> None:
    await add_alert(desk, MESSENGERS, OPS)
    slow = interrupted(desk, "delete_subscription", lambda: delete(desk), "subscriptions")

    with pytest.raises(NotFound, match="no alert 'ops'"):
        await delete(slow)


async def test_alert_that_tells_nothing_is_refused(desk: Desk) -> None:
    with pytest.raises(InvalidInput, match="the alert has no events; name at least one of failing"):
        await add_alert(desk, MESSENGERS, replace(OPS, kinds=()))


async def test_alert_to_an_address_that_is_never_called_is_refused(desk: Desk) -> None:
    strict = replace(desk, never_called=lambda host: "it is a metadata address" if host == "192.0.2.1" else None)

    with pytest.raises(InvalidInput, match=r"to 'https://192\.0\.2\.1:443' is never called: it is a metadata address"):
        await add_alert(strict, MESSENGERS, replace(OPS, to=("https://192.0.2.1/hook",)))
