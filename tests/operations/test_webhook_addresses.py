"""Addresses that no webhook can have."""

import pytest
from msgspec.structs import replace

from mainspring.domain.errors import InvalidInput
from mainspring.domain.notify.subscription import WebhookDraft
from mainspring.operations.context import Desk
from mainspring.operations.webhooks import add_webhook, edit_webhook
from mainspring.outbound.signing import generate_secret


def a_draft(url: str) -> WebhookDraft:
    return WebhookDraft(url, "hook", secret=generate_secret())


async def test_what_is_shown_of_another_address_is_refused(desk: Desk) -> None:
    await add_webhook(desk, a_draft("https://example.com/hook?token=one"))

    with pytest.raises(InvalidInput, match="is the shown form of a URL that this webhook does not have"):
        await edit_webhook(desk, "hook", lambda draft: replace(draft, url="https://example.com/other?••••"))


async def test_webhook_to_an_address_that_is_never_called_is_refused(desk: Desk) -> None:
    strict = replace(desk, never_called=lambda host: "it is a metadata address" if host == "192.0.2.1" else None)

    with pytest.raises(InvalidInput, match=r"'https://192\.0\.2\.1/hook' is never called: it is a metadata") as no:
        await add_webhook(strict, a_draft("https://192.0.2.1/hook?token=canary"))
    assert "canary" not in str(no.value)
