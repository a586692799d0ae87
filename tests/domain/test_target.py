"""The gate for URLs and headers: what passes is written in one form, what does not is told why and how to mend it."""

import pytest
from hypothesis import given
from hypothesis.strategies import characters, sampled_from, text
from tests.outbound.forbidden import BLOCKED_URLS, REFUSED_URLS

from mainspring.domain.errors import InvalidInput
from mainspring.domain.target import SERVICE_PORTS, Target, check_header, check_url


@pytest.mark.parametrize("url", REFUSED_URLS.values(), ids=REFUSED_URLS)
def test_a_bad_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_url(url.replace("{port}", "8080"))

    assert refusal.value.field == "url"
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize("url", BLOCKED_URLS.values(), ids=BLOCKED_URLS)
def test_a_well_written_url_passes_even_when_its_address_will_not(url: str) -> None:
    assert check_url(url.format(port=8080)).url.startswith("http://")


FORMS = {
    "http://127.0.0.1:8000/": Target(
        "http://127.0.0.1:8000/", "127.0.0.1:8000", "http://127.0.0.1:8000", name=None, port=8000
    ),
    "HTTPS://Example.COM": Target(
        "https://example.com/", "example.com:443", "https://example.com:443", name="example.com", port=443
    ),
    "http://a.example:80?q#f": Target(
        "http://a.example/?q", "a.example:80", "http://a.example:80", name="a.example", port=80
    ),
    "https://a_b.example:8443/x": Target(
        "https://a_b.example:8443/x", "a_b.example:8443", "https://a_b.example:8443", name="a_b.example", port=8443
    ),
    "http://[2606:4700:0::1]:443/": Target(
        "http://[2606:4700::1]:443/", "[2606:4700::1]:443", "http://[2606:4700::1]:443", name=None, port=443
    ),
    "http://münchen.de/ä?ö=ü": Target(
        "http://xn--mnchen-3ya.de/%C3%A4?%C3%B6=%C3%BC",
        "xn--mnchen-3ya.de:80",
        "http://xn--mnchen-3ya.de:80",
        name="xn--mnchen-3ya.de",
        port=80,
    ),
    "http://xn--fa-hia.de/%41": Target(
        "http://xn--fa-hia.de/%41", "xn--fa-hia.de:80", "http://xn--fa-hia.de:80", name="xn--fa-hia.de", port=80
    ),
    "http://localhost": Target("http://localhost/", "localhost:80", "http://localhost:80", name="localhost", port=80),
}


@pytest.mark.parametrize(("url", "target"), FORMS.items(), ids=FORMS)
def test_a_good_url_is_written_in_one_form(url: str, target: Target) -> None:
    assert check_url(url) == target
    assert check_url(target.url) == target


@pytest.mark.parametrize("port", [22, 5432, 6379])
def test_an_operator_may_allow_a_port(port: int) -> None:
    assert check_url(f"http://a.example:{port}/", frozenset({port})).port == port


@pytest.mark.parametrize("port", [80, 443, 1024, 3000, 5000, 8000, 8080, 8443, 9000, 65535])
def test_ordinary_ports_pass(port: int) -> None:
    assert port not in SERVICE_PORTS
    assert check_url(f"http://a.example:{port}/").port == port


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "http://127.1/",
            "url 'http://127.1/' has the host '127.1'; "
            "an IPv4 address is four decimal numbers such as 192.0.2.1; write it like that",
        ),
        ("http://a:b@c/", "url carries a user name or password; these are not allowed in a URL; send a secret header"),
        (
            "http://a.example:22/",
            "url 'http://a.example:22/' has the port 22, which is below 1024 and neither 80 nor 443; "
            "use another, or have the operator allow it in MAINSPRING_ALLOW_PORTS",
        ),
        ("ftp://a/", "url 'ftp://a/' is not http or https; start it with http:// or https://"),
    ],
)
def test_a_refusal_says_what_the_rule_and_the_way_out(url: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_url(url)

    assert str(refusal.value) == message


@given(text(alphabet=characters(), max_size=60))
def test_any_text_is_a_target_or_a_refusal(url: str) -> None:
    for prefix in ("", "http://", "http://a.example/", "https://a.example:8080/?"):
        try:
            target = check_url(prefix + url)
        except InvalidInput:
            continue
        assert target.url.isascii()
        assert check_url(target.url) == target


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "b"),
        ("Authorization", "Bearer x"),
        ("x-empty", ""),
        ("X-Tab", "a\tb"),
        ("X-Latin", "café"),
        ("X-Long", "x" * 8_192),
        ("Content-Type", "text/plain"),
        ("!#$%&'*+.^_`|~", "odd but allowed"),
    ],
)
def test_a_good_header_passes(name: str, value: str) -> None:
    check_header(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "x"),
        ("X A", "x"),
        ("X:A", "x"),
        ("X-Ä", "x"),
        ("X-A\r\n", "x"),
        ("X" * 257, "x"),
        ("X-A", "a\r\nX-B: c"),
        ("X-A", "a\nb"),
        ("X-A", "a\rb"),
        ("X-A", "a\0b"),
        ("X-A", "a\x1bb"),
        ("X-A", "a\x7f"),
        ("X-A", "€"),
        ("X-A", "\ud800"),
        ("X-A", "x" * 8_193),
        ("X-A", "x" * 65_536),
        *[
            (name, "x")
            for name in ("Host", "host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Expect", "TE")
        ],
        *[(name, "x") for name in ("webhook-id", "Webhook-Signature", "WEBHOOK-X", "Mainspring-Slot", "mainspring-x")],
    ],
)
def test_a_bad_header_is_refused_and_its_value_not_shown(name: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_header(name, value)

    assert refusal.value.field == "headers"
    assert len(value) < 3 or value not in str(refusal.value)


@given(sampled_from(["X-A", "Cookie"]), text())
def test_a_header_that_passes_stays_one_line(name: str, value: str) -> None:
    try:
        check_header(name, value)
    except InvalidInput:
        return
    assert len(f"{name}: {value}".encode("latin-1").splitlines()) == 1
