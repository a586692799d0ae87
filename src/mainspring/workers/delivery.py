"""Send one message to its receiver and return the outcome.

Never raises for what a receiver does, and never decides what happens to the message.
"""

from collections.abc import Mapping
from datetime import datetime

from mainspring.domain.errors import MainspringError
from mainspring.domain.notify.delivery import Delivery, hidden_parts, message_action, webhook_request
from mainspring.domain.notify.message import read_message
from mainspring.domain.notify.subscription import Alert, DestinationKind, Subscription, destination_place
from mainspring.domain.run import Outcome, Request, RunStatus
from mainspring.ports.endpoints import EndpointStore
from mainspring.ports.notifications import Messenger
from mainspring.ports.outbound import Caller, Ids, Vault


class DeliverySender:
    """`messengers` send to people and services: everything except webhooks."""

    def __init__(
        self,
        endpoints: EndpointStore,
        caller: Caller,
        messengers: Mapping[DestinationKind, Messenger],
        vault: Vault,
        ids: Ids,
    ) -> None:
        self._endpoints = endpoints
        self._caller = caller
        self._messengers = messengers
        self._vault = vault
        self._ids = ids

    def new_id(self, now: datetime) -> str:
        return self._ids.new("msg", now)

    async def send(self, delivery: Delivery, subscription: Subscription | None) -> Outcome:
        if subscription is None:
            return _unsent("its subscription was deleted")
        if not isinstance(subscription.config, Alert):
            try:
                request = webhook_request(
                    subscription,
                    self._vault.open,
                    delivery.id,
                    delivery.payload,
                    delivery.happened_at,
                    delivery.attempt,
                )
            except MainspringError as fault:
                return _unsent(str(fault))
            return await self._caller.call(request)
        channel = next((each for each in subscription.config.channels if each.id == delivery.channel), None)
        if channel is None:
            return _unsent("its destination was removed from the alert")
        try:
            target = self._vault.open(
                channel.target, destination_place(delivery.tenant_id, subscription.id, channel.id)
            )
        except MainspringError as fault:
            return _unsent(str(fault))
        if channel.kind is DestinationKind.WEBHOOK:
            return await self._call(delivery, target, channel.connection)
        title, text = read_message(delivery.payload)
        return await self._messengers[channel.kind].send(target, title, text, delivery.id)

    async def _call(self, delivery: Delivery, url: str, connection: str) -> Outcome:
        """An alert by HTTP, signed with the tenant's signing keys, if it has any."""
        tenant = await self._endpoints.tenant(delivery.tenant_id)
        request = Request(
            delivery.tenant_id, delivery.subscription_id, delivery.id, delivery.happened_at, delivery.attempt,
            message_action(url, delivery.payload, connection), tenant.signing_keys if tenant else (),
            hidden=hidden_parts(url),
        )  # fmt: skip
        return await self._caller.call(request)


def _unsent(why: str) -> Outcome:
    return Outcome(RunStatus.BLOCKED, 0, error_code="unsendable", error=f"not sent: {why}")
