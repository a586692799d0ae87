"""What an effect asks for, and how long it rests before it asks again."""

from mainspring.workflow.model import Retry
from tests.workflow.stage import Player, a_workflow


def test_rest_between_attempts_grows_up_to_its_longest() -> None:
    retry = Retry(attempts=9, delay_ms=1_000, factor=2, delay_ms_max=5_000)

    assert [retry.rest_ms(attempt) for attempt in (1, 2, 3, 4, 9)] == [1_000, 2_000, 4_000, 5_000, 5_000]


def test_hint_is_an_effect_like_any_other() -> None:
    player = Player(a_workflow({"hint": {"endpoint": "billing", "interval": "30s", "ttl": "1h", "reason": "busy"}}))

    (effect,) = player.at(0).effects

    assert (effect.kind, effect.request["endpoint"], effect.request["interval_ms"]) == ("hint", "billing", 30_000)


def test_texts_inside_of_lists_are_filled_in() -> None:
    body = {"lines": ["{{ input.a }}", "and {{ input.b }}"]}
    player = Player(a_workflow({"call": {"url": "https://example.com/", "body": body}}), {"a": 1, "b": 2})

    (effect,) = player.at(0).effects

    assert effect.request["body"] == {"lines": [1, "and 2"]}
