"""Convert the checks of Healthchecks, the JSON of `GET /api/v3/checks/`, into heartbeats.

Ping URLs and ids of channels are left behind: jobs ping the URL of the new heartbeat, and alerts are created here.
"""

from mainspring.documents.imports.source_file import Item, is_set, items_of, number_of, read_json, seconds_text, text_of
from mainspring.documents.imports.takeover import Entry, NotTaken, Takeover, item_named
from mainspring.domain.kinds.heartbeat import GRACE_MS_MAX

WHAT = "the JSON of GET /api/v3/checks/"
FILTERS = ("filter_subject", "filter_body", "filter_http_body", "filter_default_fail")
PERIOD_S = 86_400  # what Healthchecks gives a new check
GRACE_S = 3_600


def read_healthchecks(data: bytes, *, with_paused: bool = False) -> Takeover:
    taken = Takeover()
    for number, check in enumerate(items_of(read_json(data, WHAT).get("checks"), "checks", WHAT), 1):
        item = f"check {number}"
        try:
            if not isinstance(check, dict):
                raise NotTaken("it is not an object")
            item = item_named("check", text_of(check, "name") or text_of(check, "slug") or number)
            _take(taken, item, check, with_paused)
        except NotTaken as fault:
            taken.leave_out(item, fault)
    if taken.endpoints:
        taken.remarks.append(
            "jobs must ping their new URLs: `mainspring endpoint ping-url NAME` shows each, and `mainspring exec NAME "
            "-- PROGRAM` pings for a program"
        )
    return taken


def _take(taken: Takeover, item: str, check: Item, with_paused: bool) -> None:
    if text_of(check, "status") == "paused" and not with_paused:
        raise NotTaken("it is paused; --paused imports it too, and it then expects pings at once")
    named = text_of(check, "name")
    name = taken.new_name(named or text_of(check, "slug") or "check")
    entry: Entry = {"kind": "heartbeat"}
    about = [text_of(check, "desc") or (named if named != name else "")]
    if tags := text_of(check, "tags"):
        about.append(f"Tags: {', '.join(tags.split())}.")
    if description := "\n".join(each for each in about if each):
        entry["description"] = description
    grace_s = min(number_of(check, "grace", GRACE_S), GRACE_MS_MAX / 1_000)
    taken.add(
        item, name, {**entry, **_schedule(check), "grace": seconds_text(grace_s), "max_duration": seconds_text(grace_s)}
    )
    _tell(taken, item, check)


def _schedule(check: Item) -> Entry:
    schedule = text_of(check, "schedule")
    if not schedule:
        return {"every": seconds_text(number_of(check, "timeout", PERIOD_S))}
    if len(schedule.split()) != 5 and not schedule.startswith("@"):
        raise NotTaken("its schedule is not a cron expression but one of systemd; write it as cron")
    return {"cron": schedule, "timezone": text_of(check, "tz") or "UTC"}


def _tell(taken: Takeover, item: str, check: Item) -> None:
    """What the new heartbeat does not do."""
    if text_of(check, "channels"):
        taken.leave_out(f"{item}, channels", "their destinations are not in the export; create an alert")
    if text_of(check, "methods"):
        taken.leave_out(f"{item}, methods", "a ping URL takes GET, HEAD and POST alike")
    if any(is_set(check, key) for key in FILTERS) or text_of(check, "subject") or text_of(check, "subject_fail"):
        taken.leave_out(f"{item}, filters", "pings are judged by their URL or a condition; write a condition")
    if is_set(check, "manual_resume"):
        taken.leave_out(f"{item}, manual_resume", "a pause ends at its time or by hand")
