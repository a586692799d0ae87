"""Promise S4: secrets at rest are unreadable without the key, bound to their place, and can be re-keyed."""

import os
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import text

from mainspring.domain.errors import Misconfigured
from mainspring.outbound.vault import OPENED_MAX, KeyRing, Vault, key_id, load_or_create_key

KEY, OLD_KEY = b"k" * 32, b"o" * 32
PLACE = "tn_1|ep_1|header:authorization"
vault = Vault(KeyRing(KEY))


@given(text(), text())
def test_what_was_sealed_opens_in_its_place(plain: str, context: str) -> None:
    plain, context = plain.encode("utf-8", "replace").decode(), context.encode("utf-8", "replace").decode()

    assert vault.open(vault.seal(plain, context), context) == plain


@pytest.mark.parametrize(
    "place", ["tn_2|ep_1|header:authorization", "tn_1|ep_2|header:authorization", "tn_1|signing", ""]
)
def test_a_moved_secret_does_not_open(place: str) -> None:
    sealed = vault.seal("canary", PLACE)

    with pytest.raises(Misconfigured, match="moved here from another place"):
        vault.open(sealed, place)


def test_a_moved_secret_does_not_open_after_it_was_opened_at_home() -> None:
    sealed = vault.seal("canary", PLACE)
    vault.open(sealed, PLACE)

    with pytest.raises(Misconfigured):
        vault.open(sealed, "tn_2|ep_1|header:authorization")


def test_any_changed_character_keeps_a_secret_shut() -> None:
    sealed = vault.seal("canary!!", PLACE)  # 36 bytes with nonce and tag: every bit of the base64 counts

    for place in range(len(sealed)):
        changed = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
        with pytest.raises(Misconfigured):
            vault.open(changed, PLACE)


@pytest.mark.parametrize(
    "sealed", ["", "v1", "v1.", "v1..", "v2.aaaaaaaa.AAAA", "v1.5e318f8c.!", "canary", "v1.é.AAAA"]
)
def test_what_is_not_sealed_does_not_open(sealed: str) -> None:
    with pytest.raises(Misconfigured) as refusal:
        vault.open(sealed, PLACE)

    assert "canary" not in str(refusal.value)


def test_a_sealed_text_names_its_key_and_hides_its_content() -> None:
    sealed = vault.seal("canary", PLACE)

    assert sealed.startswith(f"v1.{key_id(KEY)}.")
    assert "canary" not in sealed
    assert sealed != vault.seal("canary", PLACE)


def test_old_keys_open_and_the_primary_seals() -> None:
    before = Vault(KeyRing(OLD_KEY)).seal("canary", PLACE)
    both = Vault(KeyRing(KEY, (OLD_KEY,)))
    after = both.seal(both.open(before, PLACE), PLACE)

    assert (both.is_current(before), both.is_current(after)) == (False, True)
    assert vault.open(after, PLACE) == "canary"
    with pytest.raises(Misconfigured, match=f"sealed with key '{key_id(OLD_KEY)}'"):
        vault.open(before, PLACE)


def test_opened_values_kept_in_memory_are_bounded() -> None:
    small = Vault(KeyRing(KEY))
    for number in range(OPENED_MAX + 10):
        small.open(small.seal("x", str(number)), str(number))

    assert len(small._opened) == OPENED_MAX


def test_a_key_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(Misconfigured, match="has 16 bytes; it must have 32"):
        KeyRing(b"k" * 16)


def test_a_key_file_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "key"

    first = load_or_create_key(path)

    assert len(first) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_create_key(path) == first
    assert os.listdir(path.parent) == ["key"]


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o666])
def test_a_key_file_open_to_everyone_is_refused(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "key"
    load_or_create_key(path)
    path.chmod(mode)

    with pytest.raises(Misconfigured, match=f"mode {mode:04o}.*chmod 600"):
        load_or_create_key(path)


@pytest.mark.parametrize("content", [b"", b"short", b"A" * 100, b"\xff" * 44])
def test_a_key_file_without_a_key_is_refused_and_not_overwritten(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(Misconfigured, match="does not hold a key"):
        load_or_create_key(path)
    assert path.read_bytes() == content


def test_processes_that_start_at_once_agree_on_the_key(tmp_path: Path) -> None:
    path, keys = tmp_path / "key", set()
    threads = [threading.Thread(target=lambda: keys.add(load_or_create_key(path))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(keys) == 1
