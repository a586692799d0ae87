"""The result of an import and its first simulated day, as all interfaces show them."""

from datetime import datetime
from typing import Self

from pydantic import Field

from mainspring.documents.imports.first_day import JITTER_MS, FirstDay, simulate_first_day
from mainspring.documents.imports.takeover import Takeover
from mainspring.domain.duration import format_duration
from mainspring.domain.instant import rfc3339
from mainspring.views.view import At, JsonObject, View

NAMES_SHOWN = 20  # endpoints whose first runs a terminal shows; JSON has all


class LeftOutView(View):
    item: str = Field(description="An item of the source, or a part of one.")
    reason: str


class EndpointDayView(View):
    name: str
    runs: int
    first: list[At] = Field(description="The first five runs; of a heartbeat, the times by which a ping must arrive.")
    is_expected: bool = Field(description="Whether it is a heartbeat, which calls nothing.")


class FirstDayView(View):
    began_at: At
    ended_at: At = Field(description="A day later, or earlier if the day has too many runs to simulate.")
    runs: int = Field(description="Calls; heartbeats make none.")
    busiest_minute: At | None
    busiest_minute_runs: int
    shared_seconds: int = Field(description="Seconds in which more than one run starts.")
    busiest_second: At | None
    busiest_second_runs: int
    busiest_second_runs_with_jitter: int = Field(description="The same if every endpoint had a jitter of one minute.")
    endpoints: list[EndpointDayView]

    @classmethod
    def of(cls, day: FirstDay) -> Self:
        return cls.from_value(day)


class ImportView(View):
    """What an import would create. Nothing was changed."""

    document: JsonObject
    text: str = Field(description="The document as YAML, with what was left out as comments.")
    left_out: list[LeftOutView]
    remarks: list[str]
    references: list[str] = Field(description="Names of the references whose values were secrets of the source.")
    first_day: FirstDayView | None

    @classmethod
    def of(cls, taken: Takeover, source: str, now: datetime) -> Self:
        return cls(
            document=taken.document(source),
            text=taken.text(source),
            left_out=[LeftOutView.model_validate(each) for each in taken.left_out],
            remarks=taken.remarks,
            references=sorted(taken.secrets),
            first_day=FirstDayView.of(simulate_first_day(taken, now)) if taken.endpoints else None,
        )


def first_day_lines(day: FirstDayView) -> list[str]:
    """The first day in sentences."""
    span = "the first day" if (day.ended_at - day.began_at).days else f"the time until {rfc3339(day.ended_at)}"
    lines = [f"{span} has {_counted(day.runs, 'run')}"]
    if day.busiest_minute is not None:
        lines[0] += f"; the busiest minute is {rfc3339(day.busiest_minute)} with {day.busiest_minute_runs}"
    if day.busiest_second is not None and day.shared_seconds:
        lines.append(
            f"several runs start in {_counted(day.shared_seconds, 'second')}, at most {day.busiest_second_runs} at "
            f"{rfc3339(day.busiest_second)}; with `jitter: {format_duration(JITTER_MS)}`, at most "
            f"{day.busiest_second_runs_with_jitter}"
        )
    for each in day.endpoints[:NAMES_SHOWN]:
        times = ", ".join(rfc3339(at) for at in each.first)
        noun = "ping" if each.is_expected else "run"
        expected = "pings expected by" if each.is_expected else "first runs"
        lines.append(f"{each.name}: {expected} {times}" if times else f"{each.name}: no {noun} on that day")
    if len(day.endpoints) > NAMES_SHOWN:
        lines.append(f"and {len(day.endpoints) - NAMES_SHOWN} more endpoints; -o json shows all")
    return lines


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
