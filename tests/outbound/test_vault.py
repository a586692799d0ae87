"""Promise S4: secrets at rest are unreadable without the key, bound to their place, and can be re-keyed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import text

from mainspring.domain.errors import Misconfigured
from mainspring.outbound.key_file import KeyFile
from mainspring.outbound.vault import OPENED_MAX, AesVault, KeyRing, key_id

KEY, OLD_KEY = b"k" * 32, b"o" * 32
PLACE = "tn_1|ep_1|header:authorization"
vault = AesVault(KeyRing(KEY))


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


@pytest.mark.parametrize("junk", ["A", "AAAA", "=", "==", "!", " ", "\n", ".", "-_", "=AAAA"])
@pytest.mark.parametrize("plain", ["canary", "canary!", "canary!!"])  # with two, one and no sign of padding
def test_what_follows_a_sealed_secret_keeps_it_shut(plain: str, junk: str) -> None:
    sealed = vault.seal(plain, PLACE)

    for changed in (f"{sealed}{junk}", f"{sealed[:-6]}{junk}{sealed[-6:]}"):
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
    before = AesVault(KeyRing(OLD_KEY)).seal("canary", PLACE)
    both = AesVault(KeyRing(KEY, (OLD_KEY,)))
    after = both.seal(both.open(before, PLACE), PLACE)

    assert (both.is_current(before), both.is_current(after)) == (False, True)
    assert vault.open(after, PLACE) == "canary"
    with pytest.raises(Misconfigured, match=f"encrypted with key '{key_id(OLD_KEY)}'"):
        vault.open(before, PLACE)


def test_opened_values_kept_in_memory_are_bounded() -> None:
    small = AesVault(KeyRing(KEY))
    for number in range(OPENED_MAX + 10):
        small.open(small.seal("x", str(number)), str(number))

    assert len(small._opened) == OPENED_MAX


def test_a_key_of_the_wrong_size_is_refused() -> None:
    with pytest.raises(Misconfigured, match="has 16 bytes; it must have 32"):
        KeyRing(b"k" * 16)


def test_ring_seals_with_a_new_key_as_soon_as_its_file_has_one(tmp_path: Path) -> None:
    ring, file = ring_of(tmp_path)
    following, before = AesVault(ring), ring.primary_id

    file.write((KEY, *file.read()))

    assert following.seal("canary", PLACE).startswith(f"v1.{key_id(KEY)}.")
    assert (ring.audit_keys.primary, set(ring.ciphers)) == (key_id(KEY), {key_id(KEY), before})


def test_ring_that_meets_an_unknown_key_looks_into_its_file(tmp_path: Path) -> None:
    ring, file = ring_of(tmp_path)
    file.write((KEY, *file.read()))

    assert AesVault(ring).open(vault.seal("canary", PLACE), PLACE) == "canary"


def test_key_that_left_the_file_opens_in_a_running_process_and_in_no_new_one(tmp_path: Path) -> None:
    ring, file = ring_of(tmp_path)
    running = AesVault(ring)
    before = running.seal("canary", PLACE)

    file.write((KEY,))

    assert running.seal("x", PLACE).startswith(f"v1.{key_id(KEY)}.")
    assert running.open(before, PLACE) == "canary"
    with pytest.raises(Misconfigured, match="not on the key ring"):
        AesVault(ring_of(tmp_path)[0]).open(before, PLACE)


@pytest.mark.parametrize("harm", ["gone", "nonsense", "open to everyone"])
def test_running_ring_keeps_its_keys_when_its_file_goes_bad(harm: str, tmp_path: Path) -> None:
    ring, file = ring_of(tmp_path)
    sealed = AesVault(ring).seal("canary", PLACE)
    if harm == "gone":
        file.path.unlink()
    elif harm == "nonsense":
        file.path.write_text("nonsense")
    else:
        file.path.chmod(0o644)

    assert AesVault(ring).open(sealed, PLACE) == "canary"
    assert AesVault(ring).is_current(AesVault(ring).seal("more", PLACE))


def test_what_outlives_a_key_is_known_again_by_who_has_only_the_next() -> None:
    old, both, new = KeyRing(OLD_KEY), KeyRing(KEY, (OLD_KEY,)), KeyRing(KEY)

    AesVault(new).recall(AesVault(both).retired())

    assert new.audit_keys == both.audit_keys
    assert new.checkpoint_signatories == both.checkpoint_signatories
    assert key_id(OLD_KEY) not in new.ciphers
    assert old.audit_keys.keys[key_id(OLD_KEY)].hex() not in AesVault(both).retired()


def ring_of(folder: Path) -> tuple[KeyRing, KeyFile]:
    """A ring that follows the key file of this folder, and that file."""
    file = KeyFile(folder / "key")
    primary, *old = file.read()
    return KeyRing(primary, tuple(old), reread=file.reread), KeyFile(file.path)
