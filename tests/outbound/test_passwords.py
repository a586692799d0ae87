"""Slow hashes: argon2id at full strength, and the same time for a user who is none."""

from argon2 import extract_parameters

from mainspring.outbound.passwords import Argon2Hasher


async def test_hash_is_argon2id_with_the_promised_cost() -> None:
    stored = await Argon2Hasher().hash_password("four words in a row")

    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")


async def test_only_the_password_fits() -> None:
    hasher = Argon2Hasher(memory_kib=8, passes=1)
    stored = await hasher.hash_password("four words in a row")

    assert await hasher.fits("four words in a row", stored)
    assert not await hasher.fits("four words in a roW", stored)
    assert not await hasher.fits("four words in a row", "")
    assert not await hasher.fits("four words in a row", "no hash at all")


async def test_hashes_of_one_password_differ() -> None:
    hasher = Argon2Hasher(memory_kib=8, passes=1)

    assert await hasher.hash_password("x") != await hasher.hash_password("x")


async def test_nobody_costs_as_much_as_a_wrong_password() -> None:
    """The work is compared, not the time, which a busy machine decides."""
    hasher = Argon2Hasher()
    stored = await hasher.hash_password("four words in a row")
    assert not await hasher.fits("wrong wrong wrong", "")

    assert extract_parameters(hasher._dummy) == extract_parameters(stored)  # what nobody's password is held against


def test_secrets_are_long_and_new() -> None:
    hasher = Argon2Hasher()

    assert len({hasher.new_secret() for _ in range(100)}) == 100
    assert len(hasher.new_secret()) == 32
