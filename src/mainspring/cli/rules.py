"""`mainspring rules ...`: conditions on responses and their actions."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mainspring.cli import remote_planner
from mainspring.cli.arguments import Reason
from mainspring.cli.command import CommandApp, OutputOption, ask, complete, current_settings, decide, fail_unless
from mainspring.cli.output import Output, answer, now, say, show_json
from mainspring.cli.table import Column, show_list, show_table
from mainspring.cli.workflow import read_document
from mainspring.domain.errors import InvalidInput
from mainspring.views.sentences import clock, relative

if TYPE_CHECKING:
    from mainspring.client import Client
    from mainspring.operations.context import Desk
    from mainspring.operations.rules import InvalidRules
    from mainspring.views.rule import RulesDrafted, RuleView, RunTested

    RuleDocument = dict[str, object]

app = CommandApp("Rules: conditions on responses and their actions.")

MaybeEndpoint = Annotated[str | None, typer.Argument(metavar="ENDPOINT", help="Name or id of their endpoint.")]
OfJob = Annotated[str | None, typer.Option("--job", help="Rules of this whole job, not of one endpoint.")]
File = Annotated[
    Path | None, typer.Option("--file", "-f", help="YAML or JSON file with a list of rules; - is standard input.")
]
When = Annotated[str | None, typer.Option("--when", metavar="CEL", help="The condition: 'body.depth > 100'.")]


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="YAML or JSON file with a list of rules; - is stdin.")],
    endpoint: Annotated[str | None, typer.Option("--endpoint", help="Check as rules of this endpoint.")] = None,
    job: OfJob = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Check rules without adding them: syntax, types, names, bounds.

    Without --endpoint or --job, names of siblings and targets are accepted as given.
    """
    from mainspring.domain.rules.rule import rule_document
    from mainspring.operations.rules import InvalidRules, check_loose_rules, check_rules, find_owner

    text = read_document(file)
    documents = _listed(file, text)

    async def work(desk: "Desk") -> list["RuleDocument"]:
        return [rule_document(rule) for rule in await check_rules(documents, await find_owner(desk, endpoint, job))]

    async def work_without_owner() -> list["RuleDocument"]:
        return [rule_document(rule) for rule in await check_loose_rules(documents)]

    def remotely(client: "Client") -> list["RuleDocument"]:
        return remote_planner.check_rules(client, endpoint, job, documents)

    try:
        if endpoint is None and job is None:
            rules = decide(lambda: complete(work_without_owner()), remotely)
        else:
            rules = ask(work, remotely)
    except InvalidRules as refused:
        raise _with_lines(refused, text) from None
    answer(rules, output, f"{len(rules)} {'rule is' if len(rules) == 1 else 'rules are'} valid")


@app.command("add")
def add(
    endpoint: MaybeEndpoint = None,
    job: OfJob = None,
    file: File = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the rule; default: rule-1, rule-2, ...")] = None,
    when: When = None,
    runs: Annotated[
        int, typer.Option("--for", metavar="N", help="Consecutive finished runs that must match; default 1.")
    ] = 1,
    interval: Annotated[
        str | None, typer.Option("--interval", metavar="DURATION", help="Run at this interval.")
    ] = None,
    ttl: Annotated[
        str | None, typer.Option("--ttl", metavar="DURATION", help="How long, at most 24h; default 1h.")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", help="Run once: now, or 'in 30s'.")] = None,
    pause: Annotated[str | None, typer.Option("--pause", help="Pause for a duration, or forever.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume: end its pause.")] = False,
    clear_hints: Annotated[bool, typer.Option("--clear-hints", help="Return to its own schedule.")] = False,
    target: Annotated[str | None, typer.Option("--target", metavar="NAME", help="Act on this sibling instead.")] = None,
    cooldown: Annotated[
        str | None, typer.Option("--cooldown", metavar="DURATION", help="Minimum time between two firings.")
    ] = None,
    reason: Reason = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Add a rule, or all rules of a file."""
    from mainspring.operations.rules import add_rules, find_owner
    from mainspring.ports.planner import RuleRevision
    from mainspring.views.rule import RuleView

    options: dict[str, object] = {
        "name": name, "when": when, "for": runs, "interval": interval, "ttl": ttl, "run": run, "pause": pause,
        "resume": resume, "clear_hints": clear_hints, "target": target, "cooldown": cooldown, "reason": reason,
    }  # fmt: skip
    documents = _documents(file, options)
    one_owner(endpoint, job)

    async def work(desk: "Desk") -> list["RuleView"]:
        owner = await find_owner(desk, endpoint, job)
        added = await add_rules(desk, owner, documents)
        return [RuleView.of(RuleRevision(each, owner.name or "", {})) for each in added]

    added = ask(work, lambda client: remote_planner.add_rules(client, endpoint, job, documents))
    if output is Output.JSON:
        show_json(added)
        return
    for known in added:
        say(f"added rule {known.rule['name']!r}: when {known.rule['when']}, {known.does}")


@app.command("list")
def list_rules(endpoint: MaybeEndpoint = None, job: OfJob = None, output: OutputOption = Output.TABLE) -> None:
    """List rules, their actions, when they last fired, and their errors."""
    from mainspring.operations.rules import find_owner, rules_of
    from mainspring.views.rule import RuleView

    async def work(desk: "Desk") -> list["RuleView"]:
        if endpoint is None and job is None:
            found = await desk.stores.planner.rules(desk.tenant_id)
        else:
            found = await rules_of(desk, await find_owner(desk, endpoint, job))
        return [RuleView.of(known) for known in found]

    found = ask(work, lambda client: remote_planner.rules(client, endpoint, job))
    at = now()
    rows = [
        (
            known.endpoint or "(job)",
            str(known.rule["name"]),
            str(known.rule["when"]),
            known.does + (f" -> {known.rule['target']}" if known.rule.get("target") else ""),
            relative(at, known.fired_at, "never"),
            known.fault or (f"refused: {known.refused}" if known.refused else ""),
        )
        for known in found
    ]
    columns = (
        Column("ENDPOINT", can_cut=True),
        Column("RULE", can_cut=True),
        Column("WHEN", can_cut=True),
        Column("ACTIONS", can_cut=True),
        Column("FIRED"),
        Column("ERROR", tail=True),
    )
    show_list(found, output, columns, rows, "No rules yet.")


@app.command("remove")
def remove(
    endpoint: MaybeEndpoint = None,
    names: Annotated[list[str] | None, typer.Argument(metavar="RULE", help="Names or ids of rules.")] = None,
    job: OfJob = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all rules of the endpoint or job.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Remove rules; their hints stay until they expire."""
    from mainspring.operations.rules import find_owner, remove_rules

    if job is not None and endpoint is not None:  # then the first word was a rule
        names, endpoint = [endpoint, *(names or [])], None
    one_owner(endpoint, job)
    if not names and not everything:
        raise InvalidInput("no rule was named; name one or more, or give --all", field="rule")

    async def work(desk: "Desk") -> list[str]:
        return await remove_rules(desk, await find_owner(desk, endpoint, job), names or [])

    removed = ask(work, lambda client: remote_planner.remove_rules(client, endpoint, job, names or []))
    answer(removed, output, f"removed {len(removed)}: {', '.join(removed)}" if removed else "there were no rules")


@app.command("test")
def replay(
    endpoint: MaybeEndpoint = None,
    job: OfJob = None,
    file: File = None,
    when: When = None,
    count: Annotated[
        int, typer.Option("-n", "--limit", min=1, max=1000, help="Number of newest runs of the job.")
    ] = 50,
    output: OutputOption = Output.TABLE,
) -> None:
    """Replay recorded runs with rules: the stored ones, those of --file, or one --when.

    Runs of all endpoints of the job are replayed, because rules read siblings too. Nothing is changed. Exits with 1 if
    a rule could not be judged.
    """
    from mainspring.operations.rules import check_rules, find_owner, rules_of, try_rules
    from mainspring.views.rule import RunTested

    one_owner(endpoint, job)
    given = None if file is None and when is None else _documents(file, {"when": when, "clear_hints": True})

    async def work(desk: "Desk") -> list["RunTested"]:
        owner = await find_owner(desk, endpoint, job)
        if given is None:
            rules = [known.stored.rule for known in await rules_of(desk, owner)]
        else:
            rules = await check_rules(given, owner)
        return [RunTested.of(each) for each in await try_rules(desk, owner, rules, count)]

    tested = ask(work, lambda client: remote_planner.test_rules(client, endpoint, job, given, count))
    if output is Output.JSON:
        show_json(tested)
    else:
        rows = [
            (
                clock(each.at),
                each.endpoint,
                each.run_id,
                ", ".join(each.fired) or "-",
                "; ".join(each.faults),
            )
            for each in tested
        ]
        columns = (
            Column("FINISHED"),
            Column("ENDPOINT", can_cut=True),
            Column("RUN", spare=True),
            Column("FIRES"),
            Column("ERROR", tail=True),
        )
        names = sorted({each.endpoint for each in tested})
        if tested:
            say(f"the newest {len(tested)} runs of the job, of {', '.join(names)}")
        show_table(columns, rows, "No recorded runs to test with yet.")
    fail_unless(not any(each.faults for each in tested))


def read_documents(file: Path) -> list[object]:
    return _listed(file, read_document(file))


def _listed(file: Path, text: str) -> list[object]:
    """The rules of a file: a list, or a mapping with a list under `rules`."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        read = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as fault:
        mark = fault.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InvalidInput(f"{file} is not YAML{place}: {fault.problem}; correct it", field="file") from None
    except YAMLError as fault:
        raise InvalidInput(f"{file} is not YAML: {fault}", field="file") from None
    if isinstance(read, dict) and isinstance(read.get("rules"), list):
        read = read["rules"]
    if not isinstance(read, list) or not read:
        raise InvalidInput(
            f"{file} has no list of rules; write `- when: body.depth > 100` and, below it, `  interval: 30s`",
            field="file",
        )
    return list(read)


def _with_lines(refused: "InvalidRules", text: str) -> "InvalidRules":
    """The same errors, each with its line."""
    from msgspec.structs import replace

    from mainspring.operations.rules import InvalidRules
    from mainspring.workflow.yaml_lines import line_of, read_yaml

    try:
        read, lines = read_yaml(text)
    except InvalidInput:  # rules may be larger than that function accepts
        return refused
    above = () if isinstance(read, list) else ("rules",)
    found = []
    for fault in refused.faults:
        number, _, key = fault.path.removeprefix("rules[").partition("]")
        found.append(replace(fault, line=line_of(lines, (*above, int(number), key.removeprefix(".")))))
    return InvalidRules(found)


def _documents(file: Path | None, options: dict[str, object]) -> list[object]:
    if file is not None and options.get("when") is not None:
        raise InvalidInput("--file and --when exclude each other; give one of them", field="when")
    if file is not None:
        return read_documents(file)
    if options.get("when") is None:
        raise InvalidInput("a rule needs a condition; give --when 'body.depth > 100', or --file", field="when")
    return [{key: value for key, value in options.items() if value not in (None, False, "")}]


def one_owner(endpoint: str | None, job: str | None) -> None:
    if (endpoint is None) == (job is None):
        raise InvalidInput("neither or both of endpoint and --job were given; give one of them", field="endpoint")


@app.command("draft")
def draft(
    endpoint: Annotated[str, typer.Argument(metavar="ENDPOINT", help="Name or id of an endpoint with a description.")],
    accept: Annotated[bool, typer.Option("--accept", help="Add the rules without asking.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Draft rules from the endpoint's description with the model, including a back-test; add them if you accept.

    Nothing is added without confirmation. The output can also be saved to a file, changed, and added with `rules add`.
    """
    import sys

    from mainspring.cli.backtest import show_backtest
    from mainspring.operations.rules import add_rules, find_owner
    from mainspring.views.rule import RulesDrafted
    from mainspring.wiring.planner import open_drafter, open_model

    async def work(desk: "Desk") -> "RulesDrafted":
        settings = current_settings()
        async with open_model(settings) as model:
            made = await open_drafter(settings, model)(desk, await find_owner(desk, endpoint, None))
        return RulesDrafted.of(made, endpoint)

    drafted = ask(work, lambda client: remote_planner.draft_rules(client, endpoint))
    documents = drafted.rules
    if output is Output.TABLE:
        say(_as_yaml(documents).rstrip())
        say(drafted.explanation)
        if drafted.backtest is not None:
            show_backtest(drafted.backtest)
        if not accept and sys.stdin.isatty():
            accept = typer.confirm("Add these rules?")

    async def add(desk: "Desk") -> None:
        await add_rules(desk, await find_owner(desk, endpoint, None), documents)

    def add_there(client: "Client") -> None:
        remote_planner.add_rules(client, endpoint, None, documents)

    if accept:
        ask(add, add_there)
    answer(
        {**drafted.as_json(), "added": accept},
        output,
        f"added {len(documents)}" if accept else "nothing was added; --accept adds the drafted rules",
    )


def _as_yaml(documents: Sequence[object]) -> str:
    from io import StringIO

    from ruamel.yaml import YAML

    text = StringIO()
    YAML().dump(documents, text)
    return text.getvalue()
