"""Rules, sessions and back-tests through a server, for commands that need several API calls."""

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from mainspring.cli.remote import PAGE, Shape
from mainspring.domain.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mainspring.client import Client
    from mainspring.operations.backtest import BacktestRequest
    from mainspring.views.backtest import Backtest
    from mainspring.views.planner import PlannerModes, PlannerProposal, PlannerSession, Spend
    from mainspring.views.rule import RulesDrafted, RuleView, RunTested

_IN_LIST = re.compile(r"/rules/(\d+)(.*)")
PATIENCE_S = 300.0  # a model takes longer than the 30 s of other responses


def rules(client: "Client", endpoint: str | None, job: str | None) -> list["RuleView"]:
    from mainspring.views.rule import RuleView

    return RuleView.read_all(client.rules.iterate(endpoint=endpoint, job=job, limit=PAGE))


def check_rules(client: "Client", endpoint: str | None, job: str | None, documents: "Sequence[object]") -> list[Any]:
    from mainspring.client import ApiError
    from mainspring.operations.rules import InvalidRules, RuleFault

    try:
        return list(client.rules.check(endpoint=endpoint, job=job, rules=_plain(documents))["rules"])
    except ApiError as refusal:
        places = [(_IN_LIST.fullmatch(str(each.get("pointer", ""))), each["detail"]) for each in refusal.errors]
        faults = [RuleFault(f"rules[{at[1]}]{at[2].replace('/', '.')}", said) for at, said in places if at]
        if faults:
            raise InvalidRules(faults) from None
        raise


def add_rules(
    client: "Client", endpoint: str | None, job: str | None, documents: "Sequence[object]"
) -> list["RuleView"]:
    """All rules are checked before the first one is added."""
    from mainspring.views.rule import RuleView

    if len(documents) > 1:
        check_rules(client, endpoint, job, documents)
    added = (client.rules.create(endpoint=endpoint, job=job, rule=_plain(each)) for each in documents)
    return RuleView.read_all(added)


def remove_rules(client: "Client", endpoint: str | None, job: str | None, names: "Sequence[str]") -> list[str]:
    """Rules by name or id; without names, all rules of the owner."""
    known = rules(client, endpoint, job)
    chosen = [each for each in known if not names or {str(each.rule["name"]), each.id} & set(names)]
    found = {name for each in chosen for name in (str(each.rule["name"]), each.id)}
    for name in names:
        if name not in found:
            raise NotFound("rule", name, tuple(str(each.rule["name"]) for each in known))
    return [client.rules.delete(each.id)["name"] for each in chosen]


def test_rules(
    client: "Client", endpoint: str | None, job: str | None, documents: "Sequence[object] | None", count: int
) -> list["RunTested"]:
    from mainspring.views.rule import RunTested

    given = None if documents is None else _plain(documents)
    return RunTested.read_all(client.rules.test(endpoint=endpoint, job=job, rules=given, limit=count)["runs"])


def draft_rules(client: "Client", endpoint: str) -> "RulesDrafted":
    from mainspring.views.rule import RulesDrafted

    with _patient(client) as patient:
        return RulesDrafted.model_validate(patient.rules.draft(endpoint=endpoint))


def look(client: "Client", endpoint: str) -> "PlannerSession":
    from mainspring.views.planner import PlannerSession

    with _patient(client) as patient:
        return PlannerSession.model_validate(patient.planner.look_at_endpoint(endpoint))


def modes(client: "Client", scope: str | None, wanted: str | None, undo: bool) -> tuple[str, "PlannerModes", int, int]:
    """The tenant, the modes, and the number of endpoints on which advice was undone or remains."""
    from mainspring.domain.rules.apply import MODES, MODES_IN_WORDS
    from mainspring.views.planner import PlannerModes

    planner: Any = client.planner  # its types allow known modes only; here the server refuses others
    done: Shape = {"undone": 0, "in_force": 0}
    if scope is not None and wanted is not None:
        if wanted not in MODES:
            raise InvalidInput(f"mode '{wanted}' is unknown; give {MODES_IN_WORDS}", field="mode", value=wanted)
        if scope == "all":
            done = planner.set_mode_for_all(mode=wanted, undo=undo)
        elif scope == "tenant":
            done = planner.set_tenant_mode(mode=wanted, undo=undo)
        else:
            done = planner.set_endpoint_mode(scope, mode=wanted, undo=undo)
    known = PlannerModes.model_validate(client.planner.read()["modes"])
    return client.tenant.read_usage()["tenant"], known, done["undone"], done["in_force"]


def sessions(client: "Client", endpoint: str | None, count: int) -> tuple[list["PlannerSession"], "Spend"]:
    from mainspring.views.planner import PlannerSession

    found = client.sessions.iterate_planner(endpoint=endpoint, limit=min(count, PAGE))
    return PlannerSession.read_all(islice(found, count)), usage(client)


def proposals(client: "Client", endpoint: str | None, state: str | None, count: int) -> list["PlannerProposal"]:
    from mainspring.views.planner import PlannerProposal

    group: Any = client.proposals  # its types allow known states only; here the server refuses others
    found = group.iterate(endpoint=endpoint, state=state, limit=min(count, PAGE))
    return PlannerProposal.read_all(islice(found, count))


def usage(client: "Client") -> "Spend":
    from mainspring.views.planner import Spend

    return Spend.model_validate(client.planner.read()["spend"])


def backtest(client: "Client", endpoint: str | None, job: str | None, wish: "BacktestRequest") -> "Backtest":
    from mainspring.views.backtest import Backtest

    with _patient(client) as patient:
        return Backtest.model_validate(patient.simulations.run_backtest(endpoint=endpoint, job=job, **_plain(wish)))


def _patient(client: "Client") -> "Client":
    from mainspring.client import Client

    return Client(client.server, timeout_s=PATIENCE_S)


def _plain(value: object) -> Any:
    from mainspring.views.workflow import plain

    return plain(value)
