"""Events as every door shows them."""

from typing import Any, Self

from mainspring.domain.event import StoredEvent
from mainspring.domain.target import shown_url
from mainspring.views.view import At, View


class EventView(View):
    cursor: str
    type: str
    at: At
    endpoint: str | None
    endpoint_id: str | None
    run_id: str | None
    actor: str
    data: dict[str, Any]

    @classmethod
    def of(cls, stored: StoredEvent, endpoint: str | None) -> Self:
        event = stored.event
        return cls.from_value(
            event,
            cursor=stored.cursor,
            endpoint=endpoint,
            endpoint_id=event.endpoint_id or None,
            run_id=event.run_id or None,
            data=shown_data(event.data),
        )


def shown_data(data: dict[str, Any]) -> dict[str, Any]:
    """What a change tells; older records of created endpoints contain the query string of their URL."""
    url = data.get("url")
    return {**data, "url": shown_url(url)} if isinstance(url, str) else data
