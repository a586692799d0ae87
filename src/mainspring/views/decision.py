"""Decisions of the governor as every door shows them: the next run, and each rule that asked for one."""

from datetime import datetime
from typing import Self

from pydantic import Field

from mainspring.domain.schedule.governor import Decision
from mainspring.views.view import At, View


class DecisionStepView(View):
    rule: str
    at: At | None
    verdict: str
    why: str


class PlannedRunView(View):
    next_run_at: At
    source: str
    trail: list[DecisionStepView]

    @classmethod
    def of(cls, decision: Decision) -> Self:
        return cls.from_value(decision)


class UpcomingRunsView(View):
    now: At
    failures: int | None = Field(description="The failures in a row that were supposed; null: every run succeeds.")
    runs: list[PlannedRunView]

    @classmethod
    def of(cls, decisions: list[Decision], now: datetime, failures: int | None) -> Self:
        return cls(now=now, failures=failures, runs=[PlannedRunView.of(each) for each in decisions])


class NextRunChange(View):
    before: At | None
    after: At | None
