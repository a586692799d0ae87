"""Keys that can be read back and checked, addresses and passwords that are refused in words, buckets that fit."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.domain.access.account import (
    api_key_text,
    check_email,
    check_key_life,
    check_password,
    check_role,
    check_scopes,
    key_id_from,
    login_buckets,
    neighbourhood,
    read_api_key,
)
from mainspring.domain.errors import InvalidInput


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_key_is_read_back(random: bytes, secret: bytes) -> None:
    key_id = key_id_from(random)
    text = api_key_text(key_id, secret)
    read = read_api_key(text)

    assert read is not None
    assert read[0] == key_id
    assert len(text) == len("ms_") + 8 + 1 + 43 + 1 + 6


@given(st.binary(min_size=32, max_size=32), st.integers(0, 61), st.sampled_from("aZ0_- é\x00"))
def test_key_with_one_character_changed_is_none(secret: bytes, place: int, character: str) -> None:
    text = api_key_text("abcdefgh", secret)
    changed = text[:place] + character + text[place + 1 :]

    assert changed == text or read_api_key(changed) is None


@given(st.text())
def test_any_other_text_is_no_key(text: str) -> None:
    assert read_api_key(text) is None


@pytest.mark.parametrize(
    ("text", "stored"),
    [("Ann@Example.COM", "ann@example.com"), ("  a@b ", "a@b"), ("e\u0301@x.org", "\u00e9@x.org")],
)
def test_email_is_stored_in_one_spelling(text: str, stored: str) -> None:
    assert check_email(text) == stored


@pytest.mark.parametrize(
    "text", ["", "ann", "@", "ann@", "@x", "a@b@c", "a b@c", "a\n@b", "a\x00@b", "a" * 260 + "@b", None, 5]
)
def test_what_is_no_email_is_refused(text: object) -> None:
    with pytest.raises(InvalidInput, match=r"write it like ann@example\.com"):
        check_email(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("eleven char", "has 11 characters; it needs at least 12"),
        ("x" * 257, "has 257 characters; at most 256"),
        ("aaaaaaaaaaaaaaa", "one of the most common ones"),
        ("ann@example.com", "one of the most common ones"),
        ("\ud800" + "x" * 20, "half a character"),
        (None, "is not text"),
    ],
)
def test_password_is_refused_in_words_that_do_not_repeat_it(text: object, words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_password(text, "ann@example.com")

    assert words in str(refused.value)
    assert refused.value.value is None


def test_long_password_of_any_script_is_fine() -> None:
    assert check_password("правильная лошадь") == "правильная лошадь"


@pytest.mark.parametrize("wanted", [[], None, ["root"], "read", ["read", "x"]])
def test_scopes_that_do_not_exist_are_refused(wanted: object) -> None:
    with pytest.raises(InvalidInput):
        check_scopes(wanted)


def test_role_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(InvalidInput, match="roles are viewer, operator, owner"):
        check_role("root")


@pytest.mark.parametrize("life", [timedelta(0), timedelta(seconds=59), timedelta(days=4_000), timedelta(days=-1)])
def test_key_lives_for_a_minute_to_ten_years(life: timedelta) -> None:
    with pytest.raises(InvalidInput, match="a key cannot be valid for"):
        check_key_life(life)


@pytest.mark.parametrize(
    ("address", "whose"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("::1", "0:0:0:0::/64"),
        ("::ffff:192.0.2.7", "::ffff:192.0.2.7"),
        ("", ""),
    ],
)
def test_addresses_of_one_household_share_a_bucket(address: str, whose: str) -> None:
    assert neighbourhood(address) == whose


def test_bucket_names_no_address_of_a_person() -> None:
    for bucket in login_buckets("ann@example.com", "192.0.2.7", ""):
        assert "ann" not in bucket.name
