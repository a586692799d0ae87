"""Port of callbacks: reports of targets about runs that they accepted."""

from typing import Protocol

from mainspring.domain.schedule.callback import CallbackReport, Receipt


class CallbackStore(Protocol):
    async def receive(self, tenant_id: str, endpoint_id: str, run_id: str, report: CallbackReport) -> Receipt | None:
        """Applies a report to its run in one transaction; None if the endpoint or the run does not exist any more.

        The endpoint is locked, so a report, the recording of the response and the judgement of the deadline happen one
        after the other. Of several ends of a run, one counts; the others get a receipt with a refusal.
        """
