"""Which of the due endpoints get the free places: caps hold, tenants take turns, the oldest goes first."""

from collections import Counter
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.domain.stage import DAY

from mainspring.domain.schedule.fairness import (
    Busy,
    Candidate,
    Caps,
    EndpointPace,
    SlowRoom,
    for_new,
    for_slow,
    pace_of,
    pick,
)
from mainspring.domain.schedule.host_limit import HostLimit, Rate

MANY = 10**6
UNCAPPED = Caps(MANY, MANY)
tenants = st.sampled_from("abcd")
hosts = st.sampled_from("xyz")
ages = st.integers(0, 20).map(lambda seconds: DAY + timedelta(seconds=seconds))
floods = st.lists(st.tuples(tenants, hosts, ages), max_size=40).map(
    lambda rows: [Candidate(f"ep_{number:02d}", *row) for number, row in enumerate(rows)]
)
loads = st.dictionaries(st.tuples(tenants, hosts), st.integers(0, 2), max_size=3)
caps = st.one_of(st.integers(0, 8), st.integers(2, 6))


def candidate(name: str, second: int, tenant: str = "a", host: str = "x") -> Candidate:
    return Candidate(name, tenant, host, DAY + timedelta(seconds=second))


def in_flight(busy: Busy, candidates: list[Candidate], picked: list[str]) -> tuple[Counter[str], Counter[str]]:
    """Runs by tenant and by host once the picked ones have started."""
    by_tenant: Counter[str] = Counter()
    by_host: Counter[str] = Counter()
    for (tenant, host), count in busy.items():
        by_tenant[tenant] += count
        by_host[host] += count
    for each in candidates:
        by_tenant[each.tenant_id] += each.id in picked
        by_host[each.host] += each.id in picked
    return by_tenant, by_host


@given(floods, loads, caps, caps, caps)
def test_caps_are_never_exceeded_and_no_place_is_left_free_without_need(
    candidates: list[Candidate], busy: Busy, per_tenant: int, per_host: int, limit: int
) -> None:
    picked = pick(candidates, busy, Caps(per_tenant, per_host), limit)

    by_tenant, by_host = in_flight(busy, candidates, picked)
    assert len(picked) == len(set(picked)) <= limit
    for each in candidates:
        full = by_host[each.host] >= per_host or by_tenant[each.tenant_id] >= per_tenant
        assert each.id in picked or full or len(picked) == limit
        assert each.id not in picked or (by_host[each.host] <= per_host and by_tenant[each.tenant_id] <= per_tenant)


@given(floods, st.dictionaries(st.tuples(tenants, hosts), st.integers(0, 6)), st.integers(1, 12))
def test_no_tenant_gets_ahead_of_one_that_waits_by_more_than_its_turn(
    candidates: list[Candidate], busy: Busy, limit: int
) -> None:
    picked = pick(candidates, busy, UNCAPPED, limit)

    by_tenant, _ = in_flight(busy, candidates, picked)
    got = {each.tenant_id for each in candidates if each.id in picked}
    waiting = {each.tenant_id for each in candidates if each.id not in picked}
    assert all(by_tenant[lucky] <= by_tenant[patient] + 1 for lucky in got for patient in waiting)


@given(floods, loads, caps, caps, caps)
def test_within_a_tenant_and_a_host_the_oldest_goes_first(
    candidates: list[Candidate], busy: Busy, per_tenant: int, per_host: int, limit: int
) -> None:
    picked = pick(candidates, busy, Caps(per_tenant, per_host), limit)

    for one in candidates:
        for other in candidates:
            same = (one.tenant_id, one.host) == (other.tenant_id, other.host)
            if same and one.claimable_at < other.claimable_at:
                assert one.id in picked or other.id not in picked


@given(floods, st.integers(1, 3), st.integers(1, 3), st.integers(1, 5))
def test_every_candidate_has_its_turn_as_places_become_free(
    candidates: list[Candidate], per_tenant: int, per_host: int, limit: int
) -> None:
    left = list(candidates)
    for _ in range(len(candidates)):
        picked = pick(left, {}, Caps(per_tenant, per_host), limit)
        left = [each for each in left if each.id not in picked]

    assert left == []


def test_a_flood_of_one_tenant_delays_no_other() -> None:
    flood = [candidate(f"flood_{number}", 0) for number in range(50)]
    late = [candidate(f"late_{number}", 9, tenant="b", host="y") for number in range(3)]

    picked = pick([*flood, *late], {}, UNCAPPED, 6)

    assert picked == ["flood_0", "late_0", "flood_1", "late_1", "flood_2", "late_2"]


def test_the_first_place_goes_to_the_tenant_with_the_fewest_runs_in_flight() -> None:
    waiting = [candidate("old", 0, tenant="a"), candidate("young", 5, tenant="b")]

    assert pick(waiting, {("a", "z"): 3}, UNCAPPED, 1) == ["young"]
    assert pick(waiting, {}, UNCAPPED, 1) == ["old"]


def test_a_hanging_host_takes_only_its_own_places() -> None:
    hanging = [candidate(f"hanging_{number}", 0) for number in range(5)]
    healthy = [candidate(f"healthy_{number}", 9, host="y") for number in range(2)]

    picked = pick([*hanging, *healthy], {("b", "x"): 2}, Caps(MANY, 3), 10)

    assert picked == ["hanging_0", "healthy_0", "healthy_1"]


def test_operator_sets_another_cap_for_one_host() -> None:
    caps = Caps(MANY, 3, (HostLimit("x", 1),))
    due = [candidate(f"x_{number}", 0, host="x:80") for number in range(3)]
    other = [candidate(f"y_{number}", 0, host="y:80") for number in range(4)]

    assert pick([*due, *other], {}, caps, 10) == ["x_0", "y_0", "y_1", "y_2"]


def test_rate_leaves_no_more_starts_than_its_burst_or_what_is_left_of_it() -> None:
    caps = Caps(MANY, MANY, (HostLimit("*", rate=Rate(1, burst=2)),))
    due = [candidate(f"{host}_{number}", 0, host=f"{host}:80") for host in "xy" for number in range(3)]

    assert pick(due, {}, caps, 10, starts_left={"y:80": 0}) == ["x_0", "x_1"]


@given(floods, st.integers(-2, 8), st.integers(0, 3), st.sets(hosts), caps, st.data())
def test_quick_runs_are_picked_as_if_no_other_waited(
    candidates: list[Candidate], slow: int, more: int, hanging: set[str], limit: int, data: st.DataObject
) -> None:
    """Slow and new runs take their shares at most, and what they leave goes to quick ones."""
    paces = [
        EndpointPace.SLOW if each.host in hanging else data.draw(st.sampled_from(EndpointPace)) for each in candidates
    ]
    mixed = [each._replace(pace=pace) for each, pace in zip(candidates, paces, strict=True)]
    room = SlowRoom(slow, slow + more, frozenset(hanging))

    picked = pick(mixed, {}, UNCAPPED, limit, room)

    by_pace = Counter(pace for each, pace in zip(mixed, paces, strict=True) if each.id in picked)
    assert by_pace[EndpointPace.SLOW] <= max(0, slow)
    assert by_pace[EndpointPace.SLOW] + by_pace[EndpointPace.NEW] <= max(0, slow + more)
    assert len(picked) == limit or by_pace[EndpointPace.QUICK] == paces.count(EndpointPace.QUICK)


def test_slow_and_new_runs_of_a_tenant_leave_a_part_of_its_cap_to_quick_ones() -> None:
    caps = Caps(per_tenant=8, per_host=MANY)
    slow = [candidate(f"slow_{number}", 0)._replace(pace=EndpointPace.SLOW) for number in range(9)]
    new = [candidate(f"new_{number}", 1)._replace(pace=EndpointPace.NEW) for number in range(9)]
    quick = [candidate(f"quick_{number}", 9) for number in range(9)]

    picked = pick([*slow, *new, *quick], {("a", "z"): 5}, caps, 99, SlowRoom(MANY, MANY), {"a": 5})

    assert picked == ["slow_0", "new_0", "quick_0"]


def test_a_quarter_of_the_places_is_not_for_slow_runs_and_few_places_are_not_divided() -> None:
    assert {places: for_slow(places) for places in (1, 3, 4, 10, 1_000)} == {1: 1, 3: 3, 4: 3, 10: 8, 1_000: 750}
    assert {places: for_new(places) for places in (1, 7, 8, 1_000)} == {1: 1, 7: 7, 8: 7, 1_000: 875}


def test_pace_is_told_by_the_last_run() -> None:
    assert [pace_of(took) for took in (None, 0, 1_999, 2_000)] == [
        EndpointPace.NEW,
        EndpointPace.QUICK,
        EndpointPace.QUICK,
        EndpointPace.SLOW,
    ]
    rooms = (SlowRoom(1, 1), SlowRoom(0, 1), SlowRoom(-1, 0))
    assert [room.pace_max for room in rooms] == [EndpointPace.SLOW, EndpointPace.NEW, EndpointPace.QUICK]
