"""Suggest the known name that was probably meant by an unknown one. Pure."""

import re
from difflib import get_close_matches

# Synonyms: the name here first, then the names in other programs and former names.
SAME = (
    ("every", "interval", "interval_ms", "period", "frequency"),
    ("cron", "schedule", "crontab"),
    ("timezone", "tz", "zone", "time_zone"),
    ("min_interval", "min", "minimum"),
    ("max_interval", "max", "maximum"),
    ("timeout", "deadline"),
    ("after", "in", "in_ms", "after_ms"),
    ("at", "in", "once", "run_at"),
    ("duration", "for", "for_ms"),
    ("limit", "count", "number", "lines", "tail"),
    ("ttl", "expires", "expiry"),
    ("url", "address", "uri", "target"),
    ("body", "data", "payload"),
    ("input", "data", "payload", "args"),
    ("condition", "when", "expect"),
    ("accept_codes", "accept", "codes", "expect", "status"),
    ("output", "format", "json"),
    ("reason", "message", "comment", "note"),
    ("dry_run", "preview", "plan", "simulate"),
    ("yes", "force", "confirm"),
    ("follow", "watch", "tail"),
)
_WORD = re.compile(r"[^\W_]+")


def nearest(name: str, known: tuple[str, ...], *, same: tuple[tuple[str, ...], ...] = SAME) -> str | None:
    """The known synonym, else the most similar name, else a name with the same words.

    `min-interval` has the words of `min`; `lateness` matches `max-lateness` if no other name has that word. Synonyms
    exist for options and fields only.
    """
    plain = {each.lower().replace("-", "_"): each for each in known}
    wanted = name.lower().replace("-", "_")
    for names in same:
        if wanted in names and (here := [each for each in names if each in plain]):
            return plain[here[0]]
    if near := get_close_matches(name, known, n=1, cutoff=0.6):
        return near[0]
    words = set(_WORD.findall(name.lower()))
    of_known = {each: set(_WORD.findall(each.lower())) for each in known}
    inside = [each for each, its in of_known.items() if its and its <= words]
    around = [each for each, its in of_known.items() if words and words <= its]
    return max(inside, key=len, default=around[0] if len(around) == 1 else None)
