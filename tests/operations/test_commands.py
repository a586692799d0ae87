"""Programs run only if the operator's list allows them; every refusal is in the audit trail. On both databases."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.documents.texts import apply

from mainspring.documents.faults import InvalidDocument
from mainspring.domain.endpoint import EndpointConfig, new_config, with_inputs
from mainspring.domain.errors import InvalidInput
from mainspring.domain.kinds.command import CommandAction, CommandRefused
from mainspring.domain.kinds.command_policy import NO_COMMANDS
from mainspring.domain.run import Header, RunStatus
from mainspring.operations.audit import audit_entries
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, draft_endpoint, edit_endpoint, find_endpoint
from mainspring.operations.test_run import test_endpoint as run_test
from mainspring.settings import Settings
from mainspring.wiring.outbound import open_caller

BACKUP: dict[str, Any] = {
    "kind": "command", "command": ["/usr/local/bin/backup", "--full"], "every": 60_000, "spread": False,
    "environment": (Header("BACKUP_KEY", "hunter2", secret=True), Header("BACKUP_LEVEL", "9")),
}  # fmt: skip


def config(**given: object) -> EndpointConfig:
    return new_config("nightly", BACKUP | given)


async def refusals(desk: Desk) -> list[tuple[str, str]]:
    return [(each.act, each.actor) for each in await audit_entries(desk) if each.act == "command.refused"]


async def test_listed_program_is_stored_with_its_secrets_sealed(desk: Desk) -> None:
    made = await add_endpoint(desk, config())
    stored = await find_endpoint(desk, "nightly")

    assert isinstance(stored.action, CommandAction)
    key, level = stored.action.environment
    assert (desk.vault.open(key.value, f"default|{made.id}|variable:backup_key"), level.value) == ("hunter2", "9")
    assert stored.host == made.id, "an endpoint without a host is counted for itself"
    assert await refusals(desk) == []


@pytest.mark.parametrize(
    "given",
    [
        {"command": ["/bin/rm", "-rf", "/"]},
        {"command": ["rm -rf /"], "shell": True},
        {"folder": "/etc"},
        {"user": "root"},
        {"environment": (Header("LD_PRELOAD", "/tmp/x.so"),)},
    ],
)
async def test_what_is_not_listed_is_refused_at_every_verb_and_audited(desk: Desk, given: dict[str, Any]) -> None:
    await add_endpoint(desk, config())
    with pytest.raises(CommandRefused, match="MAINSPRING_COMMANDS"):
        await add_endpoint(desk, replace(config(**given), name="other"))
    with pytest.raises(CommandRefused):
        await draft_endpoint(desk, config(**given))
    with pytest.raises(CommandRefused):
        await edit_endpoint(desk, "nightly", lambda old: with_inputs(old, given))

    assert await refusals(desk) == [("command.refused", "ada")] * 3


async def test_without_a_list_no_one_runs_anything(desk: Desk) -> None:
    with pytest.raises(CommandRefused):
        await add_endpoint(replace(desk, commands=NO_COMMANDS, actor="user:owner"), config())

    assert await refusals(desk) == [("command.refused", "user:owner")]


async def test_document_with_a_refused_command_is_refused_and_audited(desk: Desk) -> None:
    with pytest.raises(InvalidDocument, match="program '/bin/rm' is not allowed"):
        await apply(desk, "endpoints: {it: {kind: command, command: [/bin/rm, -r, /], every: 5m}}")

    assert await refusals(desk) == [("command.refused", "ada")]


async def test_worker_without_the_program_on_its_list_blocks_the_run_and_audits_it(desk: Desk, tmp_path: Path) -> None:
    """The check is made again where the program would run."""
    await add_endpoint(desk, config())
    caller = open_caller(Settings(data_dir=tmp_path), desk.vault, desk.stores)
    run, _ = await run_test(desk, caller, "nightly")
    await caller.aclose()

    assert (run.status, run.error_code) == (RunStatus.BLOCKED, "not_allowed")
    ((act, actor),) = await refusals(desk)
    assert (act, actor.partition(":")[0]) == ("command.refused", "worker")


async def test_stored_secret_is_not_kept_for_another_command(desk: Desk) -> None:
    await add_endpoint(desk, config())
    with pytest.raises(InvalidInput, match="the secret environment 'BACKUP_KEY' were given for"):
        await edit_endpoint(
            desk, "nightly", lambda old: with_inputs(old, {"command": ["/usr/local/bin/backup", "--print-env"]})
        )
