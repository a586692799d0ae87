"""Whom passkeys sign for, and counters of signatures."""

import pytest

from mainspring.domain.access.passkey import RelyingParty, counts_on, relying_party


@pytest.mark.parametrize(
    ("public_url", "request_url", "party"),
    [
        (
            "https://Mainspring.Example.com/",
            "http://10.0.0.1/",
            RelyingParty("mainspring.example.com", "https://mainspring.example.com"),
        ),
        ("https://a.example.com:8443", "", RelyingParty("a.example.com", "https://a.example.com:8443")),
        ("", "http://localhost:8080/", RelyingParty("localhost", "http://localhost:8080")),
        ("http://localhost:8080", "", RelyingParty("localhost", "http://localhost:8080")),
    ],
)
def test_relying_party_is_the_public_address(public_url: str, request_url: str, party: RelyingParty) -> None:
    assert relying_party(public_url, request_url) == party


@pytest.mark.parametrize(
    ("before", "after", "counts"), [(0, 0, True), (0, 1, True), (1, 1, False), (2, 1, False), (1, 0, False)]
)
def test_counter_goes_on(before: int, after: int, counts: bool) -> None:
    assert counts_on(before, after) is counts
