"""Many messages as one."""

from datetime import UTC, datetime

from mainspring.domain.notify.message import LISTED_MAX, Message, sum_up

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_digest_lists_so_many_titles_and_counts_the_rest() -> None:
    messages = [Message("alert.failing", NOON, f"{number} is failing", "") for number in range(LISTED_MAX + 3)]

    digest = sum_up(messages, "in quiet hours", NOON)

    title, _, first, *_, last, rest = digest.text.splitlines()
    assert digest.title == "23 alerts in quiet hours"
    assert title == "23 alerts in quiet hours:"
    assert first.endswith("  0 is failing")
    assert (last.endswith("  19 is failing"), rest) == (True, "- and 3 more")
    assert len(digest.data["alerts"]) == 23  # type: ignore[arg-type]  # a list
