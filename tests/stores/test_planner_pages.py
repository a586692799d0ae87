"""What the planner reads: the rules and endpoints that finished runs concern, and no others."""

from tests.stores.test_planner import CHANGED, rule
from tests.stores.world import START, add, an_endpoint, claim, finished

from mainspring.domain.rules.judge import StoredRule
from mainspring.domain.rules.rule import read_rule
from mainspring.ports.stores import Stores

WAKES_RAN = read_rule({"when": "now > timestamp('2020-01-01T00:00:00Z')", "run": "now", "target": "ran"}, "strange")


async def test_page_reads_only_the_rules_and_endpoints_that_its_runs_concern(stores: Stores) -> None:
    ran, named, stranger = an_endpoint("ran"), an_endpoint("named"), an_endpoint("stranger")
    await add(stores, ran, named, stranger)
    own = await rule(stores, ran, "own", when="ok", interval="1m", ttl="1h")
    await rule(stores, stranger, "strange", when="ok", interval="1m", ttl="1h")
    batch = await claim(stores)
    await stores.schedule.finish([finished(each) for each in batch.claims if each.endpoint.id == ran.id])
    narrow = await stores.planner.next_page(20)
    watching = await rule(stores, named, "watching", when='siblings["ran"].ok', interval="1m", ttl="1h")
    edited = StoredRule("strange", "default", stranger.job_id, stranger.id, WAKES_RAN, START)
    assert await stores.planner.put_rule(edited, CHANGED)
    wide = await stores.planner.next_page(20)

    assert narrow is not None
    assert wide is not None
    assert narrow.rules == (own,)
    assert [member.name for member in narrow.members] == ["ran"]
    assert set(wide.rules) == {own, watching, edited}
    assert {member.name for member in wide.members} == {"ran", "named", "stranger"}


async def test_rules_of_one_endpoint_are_listed_alone(stores: Stores) -> None:
    one, two = an_endpoint("one"), an_endpoint("two")
    await add(stores, one, two)
    wanted = await rule(stores, one, "wanted", when="ok", interval="1m")
    await rule(stores, two, "other", when="ok", interval="1m")

    assert [each.stored for each in await stores.planner.rules("default", one.job_id, one.id)] == [wanted]
