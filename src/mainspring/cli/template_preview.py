"""`endpoint test --dry-run`: the texts with templates as a call now would send them. Nothing is called."""

from typing import TYPE_CHECKING

from mainspring.cli.command import ask, fail_unless
from mainspring.cli.output import Output, show_json
from mainspring.cli.table import show_fields

if TYPE_CHECKING:
    from mainspring.operations.context import Desk
    from mainspring.views.endpoint import TestDryRun


def show_templates(name: str, output: Output) -> None:
    """The exit code is 1 if a template cannot be filled in."""
    from mainspring.operations.endpoints import find_endpoint
    from mainspring.views.endpoint import TestDryRun, load_test_dry_run

    async def work(desk: "Desk") -> "TestDryRun":
        return await load_test_dry_run(desk, await find_endpoint(desk, name))

    told = ask(work, lambda client: TestDryRun.model_validate(client.endpoints.test(name, dry_run=True)))
    filled = told.templates
    fault = None if filled is None else filled.fault
    if output is Output.JSON:
        show_json(told)
    else:
        texts = [] if filled is None else [(each.name, each.text) for each in filled.texts]
        ending = [("error", fault)] if fault else [("templates", "none")] if filled is None else []
        show_fields([("would call", told.would_call.target), *texts, *ending])
    fail_unless(fault is None)
