"""Back-tests as all interfaces show them."""

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from mainspring.domain.rules.backtest import BackTest, Detection, Fired, PolicyReplay
from mainspring.views.view import At, View

LISTED_MAX = 1_000
RUNS_MAX = 2_000


class Calls(View):
    recorded: int
    present: int = Field(description="With the current policy.")
    changed: int = Field(description="With the changed policy.")
    saved: int = Field(description="Current minus changed.")

    @classmethod
    def of(cls, tested: BackTest, endpoint_id: str | None = None, /, **others: object) -> Self:
        """For one endpoint, or for all."""
        recorded = sum(len(each) for name, each in tested.recorded.items() if endpoint_id in (None, name))
        present, changed = _count(tested.present, endpoint_id), _count(tested.changed, endpoint_id)
        counts = {"recorded": recorded, "present": present, "changed": changed, "saved": present - changed}
        return cls.model_validate({**counts, **others})


def _count(replay: PolicyReplay, endpoint_id: str | None) -> int:
    return sum(endpoint_id in (None, run.endpoint_id) for run in replay.runs)


class EndpointCalls(Calls):
    endpoint: str
    endpoint_id: str


class SeenAfter(View):
    present: float | None
    changed: float | None


class RecordedFailure(View):
    endpoint: str
    failed_at: At
    recovered_at: At | None
    seen_after_s: SeenAfter = Field(description="Seconds until each policy detected it; null: not while it lasted.")

    @classmethod
    def of(cls, failure: Detection, endpoint: str) -> Self:
        seen = SeenAfter(present=failure.present_s, changed=failure.changed_s)
        return cls.from_value(failure, endpoint=endpoint, recovered_at=failure.until, seen_after_s=seen)


class ReplayedFiring(View):
    at: At
    endpoint: str
    rule: str
    does: str
    run_id: str | None = Field(description="The recorded run whose response was used.")

    @classmethod
    def of(cls, fired: Fired, endpoint: str) -> Self:
        return cls.from_value(fired, endpoint=endpoint, run_id=fired.recorded_id or None)


class Differences(View):
    only_present: list[ReplayedFiring]
    only_changed: list[ReplayedFiring]


class ReplayedRunView(View):
    at: At
    endpoint: str
    ok: bool
    source: str

    @classmethod
    def all_of(cls, tested: BackTest, replay: PolicyReplay) -> list[Self]:
        return [cls.from_value(run, endpoint=tested.names[run.endpoint_id]) for run in replay.runs[:RUNS_MAX]]


class ReplayedRuns(View):
    present: list[ReplayedRunView]
    changed: list[ReplayedRunView]


class BacktestTotals(View):
    """Total number. The lists have the first `listed` of them."""

    failures: int
    only_present: int
    only_changed: int
    listed: int


class Backtest(View):
    begin: At
    end: At
    limit: int = Field(description="Number of runs of each endpoint that were replayed, newest first.")
    is_limited: bool = Field(description="Whether the limit may have left out runs.")
    is_cut: bool = Field(description="Whether a replay stopped at 60,000 runs.")
    faults: list[str] = Field(description="Rules of the changed policy that could not be evaluated, and why.")
    calls: Calls
    endpoints: list[EndpointCalls]
    totals: BacktestTotals
    failures: list[RecordedFailure]
    differs: Differences = Field(description="Decisions that only one policy took.")
    runs: ReplayedRuns = Field(description="The first 2,000 of each.")

    @classmethod
    def of(cls, tested: BackTest) -> Self:
        """Calls by endpoint, when failures were detected, and decisions of only one policy. Lists are truncated."""
        names = tested.names

        def firings(fired: Sequence[Fired]) -> list[ReplayedFiring]:
            return [ReplayedFiring.of(each, names[each.endpoint_id]) for each in fired[:LISTED_MAX]]

        return cls(
            begin=tested.begin,
            end=tested.end,
            limit=tested.limit,
            is_limited=tested.is_limited,
            is_cut=tested.present.is_cut or tested.changed.is_cut,
            faults=list(tested.changed.faults),
            calls=Calls.of(tested),
            endpoints=[
                EndpointCalls.of(tested, endpoint_id, endpoint=name, endpoint_id=endpoint_id)
                for endpoint_id, name in sorted(names.items(), key=lambda pair: pair[1])
            ],
            totals=BacktestTotals(
                failures=len(tested.detections),
                only_present=len(tested.only_present),
                only_changed=len(tested.only_changed),
                listed=LISTED_MAX,
            ),
            failures=[RecordedFailure.of(each, names[each.endpoint_id]) for each in tested.detections[:LISTED_MAX]],
            differs=Differences(only_present=firings(tested.only_present), only_changed=firings(tested.only_changed)),
            runs=ReplayedRuns(
                present=ReplayedRunView.all_of(tested, tested.present),
                changed=ReplayedRunView.all_of(tested, tested.changed),
            ),
        )
