"""Calls as all interfaces show them."""

from typing import Literal, Self

from pydantic import Field

from mainspring.domain.endpoint import Endpoint
from mainspring.domain.kinds.registry import kind_of
from mainspring.operations.calls import PlacedCall
from mainspring.views.view import At, OrNull, View

CallStatus = Literal["waiting", "running", "retrying", "done", "cancelled"]


def status_of(call: Endpoint) -> CallStatus:
    if call.archived_at is not None:
        return "cancelled"
    if call.is_done:
        return "done"
    if call.is_running:
        return "running"
    return "retrying" if call.is_retrying else "waiting"


class CallView(View):
    id: str = Field(description="Also the id and name of its endpoint, for runs, events and `why`.")
    key: str
    status: CallStatus
    at: At | None = Field(description="The time of the call.")
    next_run_at: At | None = Field(description="The time of the next attempt; null after the last.")
    target: str = Field(description="What is called: method and URL.")
    last_run_at: At | None
    last_status: OrNull = Field(description="How the last attempt ended; null before the first.")
    created_at: At

    @classmethod
    def of(cls, call: Endpoint, **others: object) -> Self:
        return cls.from_value(
            call,
            key=call.call_key or "",
            status=status_of(call),
            at=call.once_at,
            target=kind_of(call.action).summary(call.action),
            **others,
        )


class PlacedCallView(CallView):
    is_new: bool = Field(description="False: the key was taken, and this is the call that has it.")

    @classmethod
    def of_placed(cls, placed: PlacedCall) -> Self:
        return cls.of(placed.call, is_new=placed.is_new)


class PlacedCalls(View):
    dry_run: bool = Field(description="Whether nothing was stored.")
    created: int
    duplicates: int = Field(description="Calls whose key was taken.")
    items: list[PlacedCallView] = Field(description="In the order of the request.")

    @classmethod
    def of(cls, placed: list[PlacedCall], *, dry_run: bool = False) -> Self:
        created = sum(each.is_new for each in placed)
        items = [PlacedCallView.of_placed(each) for each in placed]
        return cls(dry_run=dry_run, created=created, duplicates=len(placed) - created, items=items)
