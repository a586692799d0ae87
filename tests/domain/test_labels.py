"""Every state, event type and error code has its words, and no word is left over."""

import re
from pathlib import Path

from mainspring.domain import labels
from mainspring.domain.event import EventType
from mainspring.domain.notify.subscription import AlertKind
from mainspring.domain.run import NO_CALLBACK, NOT_ALLOWED, TEMPLATE, RunStatus
from mainspring.outbound import http
from mainspring.outbound.mail import LOST, NOT_SENT
from mainspring.views.sentences import RULES

SOURCE = Path(http.__file__).parents[1]
CODE = re.compile(
    r"""error_code(?:=|": )"(\w+)"|_unsent\("(\w+)"|_amended\(outcome, "(\w+)\"|(?:CallFault|blocked)\(\s*"(\w+)\""""
    r"""|(?:None|status_code), "(\w+)", (?:f"sending|error\))"""
)


def codes_in_use() -> set[str]:
    """The codes in the table of the HTTP caller, and those that other modules write."""
    table = (http.__doc__ or "").partition("    blocked ")[2].partition("\n\n")[0]
    listed = set(re.findall(r"\b(?!blocked |timeout |failure )[a-z]+(?:_[a-z]+)*\b", re.sub(r"\(.*?\)", "", table)))
    folders = ("outbound", "workers", "domain", "stores")
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in (SOURCE / folder).rglob("*.py")]
    written = {code for text in texts for found in CODE.findall(text) for code in found if code}
    named = {LOST, NOT_SENT, NO_CALLBACK, NOT_ALLOWED, TEMPLATE}
    return (listed - {"timeout", "failure"}) | written | set(http.CODES.values()) | named


def test_every_event_type_run_status_and_alert_kind_has_words() -> None:
    assert set(labels.EVENTS) == set(EventType)
    assert set(labels.RUN_STATUSES) == set(RunStatus)
    assert set(labels.ALERT_KINDS) == set(AlertKind)


def test_every_source_of_a_next_run_has_words() -> None:
    assert set(labels.SOURCES) == set(RULES)


def test_every_error_code_has_words() -> None:
    assert codes_in_use() == set(labels.ERROR_CODES)


def test_no_label_is_empty() -> None:
    assert [(kind, key) for kind, table in labels.api_labels().items() for key, said in table.items() if not said] == []
