"""Tests of shop.yaml: `pytest docs/examples/testing`. No network, no waiting."""

from pathlib import Path

import pytest

from mainspring.testing import Answer, Play

DOCUMENT = (Path(__file__).parent / "shop.yaml").read_text()


@pytest.fixture
def shop(mainspring: Play) -> Play:
    mainspring.apply(DOCUMENT)
    mainspring.answer("shop", Answer(body={"load": 10}))
    mainspring.answer("database", Answer(body={"connect_ms": 5}))
    return mainspring


def test_shop_is_checked_every_minute(shop: Play) -> None:
    shop.advance("5m")

    assert shop.statuses("shop") == ["success"] * 6


def test_busy_shop_is_checked_more_often(shop: Play) -> None:
    shop.answer("shop", Answer(body={"load": 90}))
    shop.advance("1m")

    assert len(shop.runs("shop")) == 4
    hint = shop.endpoint("shop").interval_hint
    assert hint is not None
    assert (hint.interval_ms, hint.author) == (20_000, "rule:busy")
    assert "set by the interval hint of rule busy" in shop.why("shop")[0]


def test_failure_that_a_retry_repairs_sends_no_alert(shop: Play) -> None:
    shop.answer("shop", Answer(503), Answer(body={"load": 10}))
    shop.advance("10m")

    assert shop.statuses("shop")[:2] == ["retried", "success"]
    assert shop.messages == []


def test_second_failure_alerts_and_recovery_too(shop: Play) -> None:
    shop.answer("shop", *[Answer(error_code="connect")] * 4, Answer(body={"load": 10}))
    shop.advance("10m")

    assert [(each.to, each.title) for each in shop.messages] == [
        ("ops@example.com", "shop is failing"),
        ("ops@example.com", "shop has recovered"),
    ]


def test_silent_backup_is_missed(shop: Play) -> None:
    shop.advance("70m")  # the backup is due at 10:00, and the clock began at 9:00

    assert shop.statuses("backup") == ["missed"]
    assert shop.messages[0].title == "backup is failing"


def test_backup_is_timed_from_its_start_to_its_end(shop: Play) -> None:
    shop.advance("60m")
    shop.ping("backup", "start")
    shop.advance("20m")
    shop.ping("backup", exit_code=0, log="4 GB")

    (run,) = shop.runs("backup")
    assert (run.status, run.duration_ms) == ("success", 20 * 60_000)


def test_slow_database_fails_its_condition(shop: Play) -> None:
    shop.answer("database", Answer(body={"connect_ms": 500}))
    shop.advance("5m")

    assert shop.runs("database")[0].error_code == "condition"


@pytest.mark.parametrize("answers", [True, False])
def test_order_ends_with_the_reply_of_the_customer(shop: Play, answers: bool) -> None:
    order = shop.start("order", {"order": 7}, correlation="order-7")
    shop.advance("10m")
    if answers:
        shop.send_event("order-7", "reply")
    shop.advance("1h")

    assert shop.execution(order).outcome == ("answered" if answers else "silent")
    assert len(shop.calls("https://shop.example.com/confirm")) == 1
