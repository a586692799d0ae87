"""Convert Kubernetes CronJobs, as YAML or JSON manifests, into a document.

A CronJob that calls one URL with curl or wget becomes an endpoint. Any other becomes a heartbeat: its container stays
in the cluster, behind `mainspring exec`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from mainspring.documents.imports.crontab import heartbeat_entry, http_entry
from mainspring.documents.imports.curl_command import WebCall, read_call
from mainspring.documents.imports.shell_words import CannotExpand, split_words
from mainspring.documents.imports.source_file import (
    ITEMS_MAX,
    Item,
    check_size,
    is_set,
    number_of,
    refused,
    seconds_text,
    text_of,
)
from mainspring.documents.imports.takeover import Entry, NotTaken, Takeover, item_named
from mainspring.documents.yaml_reader import read_documents

WHAT = "a manifest with CronJobs"
SHELLS = frozenset("sh bash ash dash zsh".split())
_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)")
_EXPANSION = re.compile(r"\$\(([A-Za-z_][\w.-]*)\)")
_CALLERS = re.compile(r"(?:.*[-_])?(curl|wget)(?:[-_].*)?")


def read_cron_jobs(file: str, data: bytes, *, timezone: str | None = None, with_paused: bool = False) -> Takeover:
    """Raises InvalidDocument if the file is not YAML."""
    check_size(data, WHAT)
    taken = Takeover()
    assumed = False
    found = list(_objects([tree.value for tree in read_documents(file, data)]))
    if len(found) > ITEMS_MAX:
        raise refused(f"the file has {len(found):,} objects; at most {ITEMS_MAX:,} are imported: split it")
    for number, each in enumerate(found, 1):
        item = f"object {number}"
        try:
            if not isinstance(each, dict):
                raise NotTaken("it is not an object of Kubernetes")
            metadata = _mapping(each, "metadata")
            kind, name = text_of(each, "kind"), text_of(metadata, "name") or str(number)
            item = item_named(kind or "object", name)
            if kind != "CronJob":
                raise NotTaken("only objects of kind CronJob have a schedule")
            assumed = _take(taken, item, each, timezone, with_paused) or assumed
        except NotTaken as fault:
            taken.leave_out(item, fault)
    if assumed:
        taken.remarks.append(
            "CronJobs without timeZone are read as UTC: Kubernetes used the zone of its controller; give it, for "
            "example --tz Europe/Berlin"
        )
    return taken


def _objects(values: list[object]) -> Iterator[object]:
    """Every object of the documents, those of a List one by one. The reader has bounded depth and number."""
    for value in values:
        if isinstance(value, dict) and isinstance(items := value.get("items"), list):
            yield from _objects(items)
        elif value is not None:
            yield value


def _take(taken: Takeover, item: str, cron_job: Item, timezone: str | None, with_paused: bool) -> bool:
    """Whether the time zone had to be assumed."""
    spec = _mapping(cron_job, "spec")
    if is_set(spec, "suspend") and not with_paused:
        raise NotTaken("it is suspended; --paused imports it too, and it then runs at once")
    schedule, zone = text_of(spec, "schedule"), text_of(spec, "timeZone")
    if (found := _ZONE.fullmatch(schedule)) is not None:
        zone, schedule = zone or found[1], found[2]
    timing: Entry = {"cron": schedule, "timezone": zone or timezone or "UTC"}
    if namespace := text_of(_mapping(cron_job, "metadata"), "namespace"):
        timing["job"] = namespace
    job = _mapping(_mapping(spec, "jobTemplate"), "spec")
    container = _container(_mapping(_mapping(job, "template"), "spec"))
    name = taken.new_name(text_of(_mapping(cron_job, "metadata"), "name"))
    try:
        call = _call(container)
        why = "it is not one call of curl or wget"
        if call is not None:
            entry = http_entry(taken, name, call, timing)
            if deadline := number_of(spec, "startingDeadlineSeconds"):
                entry["max_lateness"] = seconds_text(deadline)
            taken.add(item, name, entry)
            _tell(taken, item, spec)
            return not (zone or timezone)
    except (NotTaken, CannotExpand, ValueError) as fault:
        why = str(fault)
    entry = heartbeat_entry(timing)
    if limit := number_of(job, "activeDeadlineSeconds"):
        entry["max_duration"] = seconds_text(limit)
    taken.add(item, name, entry)
    taken.remarks.append(
        f"{item}: {name!r} waits for pings of the job, because {why}; install Mainspring in its image, and write "
        f"`mainspring exec {name} --` before its command; give the container MAINSPRING_PING_URL from a Secret "
        f"(`mainspring endpoint ping-url {name}` shows the URL)"
    )
    return not (zone or timezone)


def _tell(taken: Takeover, item: str, spec: Item) -> None:
    """What an endpoint does differently."""
    policy = text_of(spec, "concurrencyPolicy") or "Allow"
    if policy != "Forbid":
        taken.leave_out(f"{item}, concurrencyPolicy {policy[:20]}", "an endpoint never runs twice at the same time")
    job = _mapping(_mapping(spec, "jobTemplate"), "spec")
    if number_of(job, "backoffLimit", 6):
        taken.leave_out(f"{item}, backoffLimit", "a failed call is not repeated; give the endpoint `retry`")


def _container(pod: Item) -> Item:
    containers = pod.get("containers")
    if not isinstance(containers, list) or not containers or not all(isinstance(each, dict) for each in containers):
        raise NotTaken("it has no containers")
    found: Item = containers[0] if len(containers) == 1 else {}
    return found


def _call(container: Item) -> WebCall | None:
    """The call that a container makes; None if it is another program. Raises NotTaken, CannotExpand and ValueError."""
    command, args = _words(container, "command"), _words(container, "args")
    variables = _variables(container)
    words = [_expanded(word, variables) for word in (*command, *args)]
    if not command and (found := _CALLERS.fullmatch(_image(container))) is not None:
        words = [found[1], *words]
    if len(words) >= 3 and PurePath(words[0]).name in SHELLS and words[-2].startswith("-") and words[-2].endswith("c"):
        words = split_words(words[-1], {key: value for key, value in variables.items() if value is not None})
    return read_call(words, None)


def _expanded(word: str, variables: Mapping[str, str | None]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1] not in variables:
            return found[0]  # as Kubernetes does
        known = variables[found[1]]
        if known is None:
            raise NotTaken(f"it uses $({found[1][:40]}), whose value is not in the manifest")
        return known

    return _EXPANSION.sub(value, word)


def _variables(container: Item) -> dict[str, str | None]:
    """The variables of a container; None if the value comes from a Secret or elsewhere."""
    env = container.get("env")
    found: dict[str, str | None] = {}
    for each in env if isinstance(env, list) else []:
        if isinstance(each, dict) and (name := text_of(each, "name")):
            found[name] = text_of(each, "value") if "valueFrom" not in each else None
    return found


def _words(container: Item, key: str) -> list[str]:
    value = container.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str | int | float) for each in value):
        raise NotTaken(f"its {key} is not a list of texts")
    return [str(each) for each in value]


def _image(container: Item) -> str:
    """`curl` of `docker.io/curlimages/curl:8.5.0@sha256:...`."""
    image = text_of(container, "image").partition("@")[0].rpartition("/")[2]
    return image.partition(":")[0]


def _mapping(item: Item, key: str) -> Item:
    value = item.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise NotTaken(f"its {key} is not a mapping")
    return value
