"""The log proves itself: published vectors hold, honest logs are valid, and every attack is found where it was made."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from mainspring.workflow.audit import (
    GENESIS,
    Anchor,
    Breach,
    TickHead,
    canonical,
    effect_key,
    entry_hash,
    revive,
    seal,
    seal_tick,
    verify,
    verify_ticks,
)
from mainspring.workflow.model import EntryDraft, LogEntry
from tests.workflow.stage import SALT, run_generated

LENGTH = 400
ATTACKS = ("edit", "delete", "insert", "swap", "truncate", "replace")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text().filter(lambda key: key != "$double"), inner),
    max_leaves=20,
)


def a_log(length: int = LENGTH, seed: int = 1) -> list[LogEntry]:
    random = Random(seed)
    drafts = [
        EntryDraft(
            number // 3, f"s{number % 5}", "set", {"n": random.random()} if number % 4 else None, [number], GENESIS
        )
        for number in range(length)
    ]
    return seal("x1", SALT, 0, "", drafts)


def anchors_of(log: list[LogEntry]) -> list[Anchor]:
    """What the ticks of its partition say of a log: the last entry of every tick."""
    nexts = [*log[1:], None]
    last = [entry for entry, after in zip(log, nexts, strict=True) if after is None or after.tick != entry.tick]
    return [Anchor(entry.number, entry.hash) for entry in last]


VECTORS = [
    ({"b": 1, "a": [True, None, "é\n"]}, b'{"a":[true,null,"\xc3\xa9\\n"],"b":1}'),
    ({"half": 0.5}, b'{"half":{"$double":"3fe0000000000000"}}'),
    ([1e300, -0.0, 2], b'[{"$double":"7e37e43c8800759c"},{"$double":"8000000000000000"},2]'),
    ("1.5", b'"1.5"'),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text"), VECTORS)
def test_canonical_form_is_the_published_one(value: object, text: bytes) -> None:
    assert canonical(value) == text


# Made with hashlib and json alone, not with our code.
VECTOR_HASHES = (
    "c7fc58f5838277746453d907560f59f47e9bd20bde9197077eb32ca092ae4c0b",
    "33ede586bd3a3e1c602817be8989bfaa190d58efd617cb8b21773734f0885ee8",
    "245b5c1781be64f5bb0f18ca93c466dd8e72d8995acbb6299e650e8cfe13ae42",
    "f27b120664fab70a03cf2358de52662dd898bb40805c076b54ad7177876f14b1",
    "eff_b8edc62372f7ce50e7b9c0cf0a0e8ea63283510542a3db5a",
)


def test_hashes_are_the_published_ones() -> None:
    (entry,) = seal("exe_1", "00" * 16, 0, "", [EntryDraft(7, "rest", "wait", None, {"until_tick": 259_207}, GENESIS)])
    head = seal_tick(0, 1, 7, [("exe_1", 1, entry.hash)], "")

    made = (entry.input_hash, entry.output_hash, entry.hash, head.hash, effect_key("exe_1", "thank", 1))
    assert made == VECTOR_HASHES


@given(JSON)
def test_canonical_bytes_are_revived_to_the_same_value(value: object) -> None:
    assert canonical(revive(canonical(value))) == canonical(value)


@given(st.dictionaries(st.text(), st.integers(-5, 5), min_size=2))
def test_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert canonical(value) == canonical(dict(reversed(value.items())))


def test_honest_log_is_valid_and_says_how_far_it_reaches() -> None:
    log = a_log()

    verdict = verify("x1", SALT, log, anchors_of(log))

    assert (verdict.valid, verdict.entries, verdict.first_tick, verdict.last_tick) == (True, LENGTH, 0, 133)


def test_no_honest_log_is_called_broken() -> None:
    for seed in range(300):
        simulation = run_generated(seed)
        log = list(simulation.entries)
        verdict = verify(f"x{seed}", GENESIS[:32], log, anchors_of(log))
        assert verdict.valid, (seed, verdict.breach)


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_is_found_at_its_entry(attack: str) -> None:
    log = a_log()
    anchors = anchors_of(log)
    random = Random(attack)
    missed = []
    for _ in range(200):
        changed, place = attacked(log, attack, random)
        verdict = verify("x1", SALT, changed, anchors)
        found = verdict.breach.number if verdict.breach else None
        if verdict.valid or found != place:
            missed.append((place, found))

    assert missed == []


def attacked(log: list[LogEntry], attack: str, random: Random) -> tuple[list[LogEntry], int]:
    """The log after an attack, and the number of the first entry that is not what was written."""
    at = random.randrange(len(log) - 2)
    entry = log[at]
    match attack:
        case "edit":
            field = random.choice(("tick", "step", "action", "input", "output", "context", "hash", "input_hash"))
            return [*log[:at], replace(entry, **{field: _other(entry, field)}), *log[at + 1 :]], at + 1
        case "delete":
            return log[:at] + log[at + 1 :], at + 1
        case "insert":
            forged = replace(entry, step="forged")
            return [*log[: at + 1], replace(forged, hash=entry_hash(forged)), *log[at + 1 :]], at + 2
        case "swap":
            return [*log[:at], log[at + 1], log[at], *log[at + 2 :]], at + 1
        case "truncate":
            return log[: at + 1], at + 2
        case _:  # everything from the beginning of a tick on, made anew with valid hashes
            at -= at % 3
            drafts = [EntryDraft(e.tick, e.step, "forged", None, None, e.context) for e in log[at:]]
            return log[:at] + seal("x1", SALT, at, log[at - 1].hash if at else "", drafts), at + 1


def _other(entry: LogEntry, field: str) -> object:
    match field:
        case "tick":
            return entry.tick + 1
        case "input" | "output":
            return b'{"forged":true}'
        case "hash" | "context" | "input_hash":
            return "f" * 64
        case _:
            return "forged"


def test_entry_of_another_execution_is_found() -> None:
    log = a_log(5)

    verdict = verify("x1", SALT, [*log[:2], replace(log[2], execution_id="x2"), *log[3:]])

    assert verdict.breach == Breach("x1", 3, "execution", "x1", "x2")


def test_entry_that_follows_another_one_than_it_says_is_found() -> None:
    log = a_log(5)

    verdict = verify("x1", SALT, [*log[:2], replace(log[2], previous=log[0].hash), *log[3:]])

    assert verdict.breach == Breach("x1", 3, "previous", log[1].hash, log[0].hash)


def test_clock_that_runs_backwards_is_found_though_its_hashes_fit() -> None:
    drafts = [EntryDraft(tick, "s", "set", None, None, GENESIS) for tick in (5, 4)]

    verdict = verify("x1", SALT, seal("x1", SALT, 0, "", drafts))

    assert verdict.breach == Breach("x1", 2, "tick", "5 or later", "4")


def test_erased_values_leave_a_valid_log() -> None:
    log = [replace(entry, input=None) for entry in a_log(10)]

    verdict = verify("x1", SALT, log)

    assert (verdict.valid, verdict.erased) == (True, 10)


def ticks(count: int = 50) -> list[TickHead]:
    made: list[TickHead] = []
    for number in range(count):
        heads = [(f"x{number % 7}", number + 1, f"{number:064x}"), (f"y{number}", 1, GENESIS)]
        previous = made[-1].hash if made else ""
        made.append(seal_tick(3, number + 1, number * 2, heads, previous, epoch=number // 10))
    return made


def test_chain_of_ticks_is_valid_and_names_the_end_of_every_log() -> None:
    made = ticks(8)

    breach, ends = verify_ticks(3, made, Anchor(8, made[-1].hash))

    assert breach is None
    assert ends["x0"] == Anchor(8, f"{7:064x}")


def test_removed_execution_is_not_missed() -> None:
    first = seal_tick(0, 1, 1, [("x1", 3, GENESIS)], "")
    second = seal_tick(0, 2, 5, [("x1", -1, GENESIS)], first.hash)

    assert verify_ticks(0, [first, second]) == (None, {})


def test_cut_changed_and_reordered_ticks_are_found() -> None:
    made = ticks()
    end = Anchor(50, made[-1].hash)

    found = [
        verify_ticks(3, made[:40], end)[0],
        verify_ticks(3, made[:10] + made[11:], end)[0],
        verify_ticks(3, [*made[:20], replace(made[20], heads=()), *made[21:]], end)[0],
        verify_ticks(3, [*made[:5], replace(made[5], epoch=9), *made[6:]], end)[0],
        verify_ticks(4, made, end)[0],
        verify_ticks(3, made, Anchor(50, GENESIS))[0],
    ]

    assert [each and (each.number, each.field) for each in found] == [
        (41, "number"), (11, "sequence"), (21, "hash"), (7, "tick"), (1, "hash"), (50, "hash"),
    ]  # fmt: skip
