"""Passwords that are guessed first are refused; long ones that nobody guesses are not."""

import pytest

from mainspring.domain.access.account import check_password
from mainspring.domain.access.common_passwords import is_common
from mainspring.domain.errors import InvalidInput

COMMON = [
    "password1234", "Password1234!", "P@ssw0rd1234", "passwordpassword", "admin-password", "administrator1",
    "123456789012", "qwertyuiop12", "1q2w3e4r5t6y7u8i", "abcdefghijklm", "abcabcabcabc", "zxcvbnm12345",
    "iloveyou2024!",
    "Welcome2025!!", "Summer2026!!!", "letmein letmein", "mainspring2026", "qwerty123456", "987654321098",
    "0000001111111",
]  # fmt: skip
FINE = [
    "correct horse battery staple", "four words in a row", "swordfish swordfish", "tr0ub4dor&3 zebra", "Xk9#mQ2$vL7p",
    "der gruene Hund schlaeft", "my password is a long story", "77 lemons on the roof",
]  # fmt: skip


@pytest.mark.parametrize("password", COMMON)
def test_common_password_is_refused(password: str) -> None:
    with pytest.raises(InvalidInput, match="one of the most common ones") as refused:
        check_password(password)

    assert password not in str(refused.value)


@pytest.mark.parametrize("password", FINE)
def test_password_that_nobody_guesses_is_taken(password: str) -> None:
    assert not is_common(password)
    assert check_password(password, "ann@example.com") == password


@pytest.mark.parametrize("password", ["ann.miller@example.com", "ann.miller2026", "!!ann.miller!!", "example.com1234"])
def test_password_made_of_the_address_is_refused(password: str) -> None:
    with pytest.raises(InvalidInput):
        check_password(password, "ann.miller@example.com")
