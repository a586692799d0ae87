"""Every usual form of a PostgreSQL URL means what it means to libpq, or is refused with a way out."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from tests.harness.postgres import Cluster
from tests.stores.databases import query

from mainspring.domain.errors import Misconfigured, StoreUnavailable
from mainspring.stores.postgres.url import ConnectionUrl
from mainspring.wiring.stores import open_stores

READ_WRITE = "target_session_attrs=read-write"
SYSTEM = sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # that of the tests has no TLS


@pytest.mark.parametrize(
    ("url", "hosts"),
    [
        ("postgresql://u:p@h1:1,h2:2/db", [("h1", 1), ("h2", 2)]),
        ("postgresql://h1,h2/db", [("h1", 5432), ("h2", 5432)]),
        ("postgresql://u@[::1]:7,h2/db", [("::1", 7), ("h2", 5432)]),
        ("postgresql:///db?host=h1,h2&port=1,2", [("h1", 1), ("h2", 2)]),
        ("postgresql:///db?host=h1,h2&port=7", [("h1", 7), ("h2", 7)]),
        ("postgresql:///db?host=::1", [("::1", 5432)]),
        ("postgresql:///db?host=/run/postgresql,h2", [("/run/postgresql", 5432), ("h2", 5432)]),
        ("postgresql://%2Frun%2Fpostgresql:7/db", [("/run/postgresql", 7)]),
        ("postgresql://u:p%40%2C@h1/db", [("h1", 5432)]),
        ("postgres://h1", [("h1", 5432)]),
        ("postgresql:///db", []),
    ],
)
def test_hosts_of_a_url(url: str, hosts: list[tuple[str, int]]) -> None:
    assert list(ConnectionUrl.parse(url, {}).hosts) == hosts


def test_hosts_of_the_environment_count_if_the_url_names_none() -> None:
    environment = {"PGHOST": "h1,h2", "PGPORT": "1,2"}

    assert ConnectionUrl.parse("postgresql:///db", environment).hosts == (("h1", 1), ("h2", 2))
    assert ConnectionUrl.parse("postgresql://h3/db", environment).hosts == (("h3", 5432),)


def test_folder_of_a_socket_is_not_in_the_network() -> None:
    url = ConnectionUrl.parse("postgresql:///db?host=/run/postgresql,h2", {})

    assert url.networked == [("h2", 5432)]


def test_driver_is_given_one_url_for_each_host() -> None:
    url = ConnectionUrl.parse("postgresql://u%40x:a%2Fb@[::1]:7,h2/d%20b?connect_timeout=3&options=-c%20a%3Db", {})

    options = f"{READ_WRITE}&options=-c%20a%3Db"
    assert url.each() == [
        f"postgresql://u%40x:a%2Fb@/d%20b?host=%5B%3A%3A1%5D&port=7&{options}",
        f"postgresql://u%40x:a%2Fb@/d%20b?host=h2&port=5432&{options}",
    ]


@pytest.mark.parametrize("wanted", ["any", "primary", "read-write"])
def test_kind_of_session_in_the_url_is_asked_for(wanted: str) -> None:
    (url,) = ConnectionUrl.parse(f"postgresql://h1/db?target_session_attrs={wanted}", {}).each()

    assert url == f"postgresql:///db?host=h1&port=5432&target_session_attrs={wanted}"


@pytest.mark.parametrize("url", ["postgresql://u:a%40b@h1:1,h2:2/db", "postgresql://u@h1:1,h2:2/db?password=a%40b"])
def test_tools_get_the_password_by_the_environment_and_options_of_both(url: str) -> None:
    seen, environment = ConnectionUrl.parse(f"{url}{'&' if '?' in url else '?'}options=-c%20x%3Dy", {}).for_tools(
        "-c z=1"
    )

    assert environment == {"PGPASSWORD": "a@b"}
    assert seen == f"postgresql://u@/db?host=h1%2Ch2&port=1%2C2&{READ_WRITE}&options=-c%20x%3Dy%20-c%20z%3D1"


def test_service_is_read_from_its_file_and_the_url_counts_more(tmp_path: Path) -> None:
    file = tmp_path / "services"
    file.write_text("[here]\nhost=h1,h2\nport=1,2\nuser=u\npassword=p%x\ndbname=d\nsslmode=disable\n")
    environment = {"PGSERVICEFILE": str(file)}

    expected = ConnectionUrl((("h1", 1), ("h2", 2)), "u", "p%x", "d", {"sslmode": "disable"})
    assert ConnectionUrl.parse("postgresql:///?service=here", environment) == expected
    assert ConnectionUrl.parse("postgresql:///", environment | {"PGSERVICE": "here"}) == expected
    assert ConnectionUrl.parse("postgresql://h3/e?service=here", environment).hosts == (("h3", 5432),)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://h1:port/db", "percent-encoded"),
        ("postgresql:///db?host=h1,h2,h3&port=1,2", "2 ports for 3 hosts; give one port, or one for each host"),
        ("postgresql:///db?service=nowhere", "service 'nowhere' of the URL is in none of"),
        ("postgresql://h1/db?hostaddr=10.0.0.7", "parameter hostaddr of the URL is not supported; give the address"),
        ("postgresql://h1/db?channel_binding=require", "channel_binding of the URL is not supported; remove it, and"),
        ("postgresql://h1/db?require_auth=scram-sha-256", "require_auth of the URL is not supported"),
        ("postgresql://h1/db?sslpassword=x", "use a key without a passphrase"),
        ("postgresql://h1/db?sslmod=require", "sslmod is not known; did you mean sslmode?"),
        ("postgresql://h1/db?statement_timeout=5s", "go into options, as in ?options=-c%20search_path%3Dmainspring"),
        ("postgresql://h1/db?sslmode=verify", "use one of disable, allow, prefer, require, verify-ca, verify-full"),
        ("postgresql://h1/db?target_session_attrs=standby", "use one of any, primary, read-write"),
        ("postgresql://h1/db?sslrootcert=/nowhere.pem", "sslrootcert of the URL, /nowhere.pem, is not a file"),
        ("postgresql://h1/db?sslrootcert=system", "give the file with the certificates"),
    ],
)
def test_url_that_would_not_be_obeyed_is_refused_with_a_way_out(url: str, why: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        ConnectionUrl.parse(url, {})

    assert why in str(refused.value)


@pytest.mark.parametrize(
    "url", ["postgresql://u:se?cret=1@h1/db", "postgresql://u:se/cret@h1:x/db", "postgresql://u:se#cret@h1:x/db"]
)
def test_message_repeats_no_part_of_a_password(url: str) -> None:
    with pytest.raises(Misconfigured) as refused:
        ConnectionUrl.parse(url, {})

    assert "cret" not in str(refused.value)


def test_file_with_passwords_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "pgpass"
    file.write_text("*:*:*:*:x\n")
    file.chmod(0o644)

    with pytest.raises(Misconfigured, match="chmod 600"):
        ConnectionUrl.parse(f"postgresql://h1/db?passfile={file}", {})


@pytest.mark.parametrize("form", ["socket", "query", "ignored parameters", "options", "passfile", "service"])
async def test_stores_are_opened_by_every_form(
    form: str, postgres_url: str, postgres_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = ConnectionUrl.parse(postgres_url, {})
    ((host, port),) = asked.hosts
    place = f"host={host}\nport={port}\nuser={asked.user}\npassword={asked.password}\ndbname={asked.database}\n"
    (tmp_path / "services").write_text(f"[mine]\n{place}")
    (tmp_path / "pgpass").write_text(f"*:{port}:{asked.database}:{asked.user}:{asked.password}\n")
    (tmp_path / "pgpass").chmod(0o600)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    login = f"{asked.user}:{asked.password}"
    url = {
        "socket": f"postgresql://{login}@/{asked.database}?host={postgres_cluster.socket_folder}&port={port}",
        "query": f"postgresql:///{asked.database}?host={host},{host}&port={port},{port}&user={asked.user}"
        f"&password={asked.password}",
        "ignored parameters": f"{postgres_url}?connect_timeout=10&keepalives=1&application_name=x&gssencmode=disable",
        "options": f"{postgres_url}?options=-c%20mainspring.mark%3Dseen",
        "passfile": f"postgresql://{asked.user}@{host}:{port}/{asked.database}?passfile={tmp_path / 'pgpass'}",
        "service": "postgresql:///?service=mine",
    }[form]

    async with open_stores(url) as stores:
        await stores.upkeep.probe()
        assert (await stores.upkeep.facts()).kind == "postgresql"

    assert await query(postgres_url, "SELECT count(*) FROM installation WHERE key = 'probed_at'") == [(1,)]


async def test_certificate_of_the_server_is_checked(tmp_path: Path) -> None:
    if not SYSTEM:
        pytest.skip("the PostgreSQL of the tests has no TLS, and the system has none")
    cluster = Cluster(binaries=SYSTEM[-1], settings={"ssl": "on", "ssl_cert_file": "../crt", "ssl_key_file": "../key"})
    certificate, key = self_signed("localhost")
    owner = cluster.socket_folder.stat()
    for name, text in (("crt", certificate), ("key", key)):
        (cluster.socket_folder / name).write_bytes(text)
        (cluster.socket_folder / name).chmod(0o600)
        os.chown(cluster.socket_folder / name, owner.st_uid, owner.st_gid)
    (tmp_path / "ours.pem").write_bytes(certificate)
    (tmp_path / "other.pem").write_bytes(self_signed("localhost")[0])
    with cluster:
        url = cluster.create_database("tls").replace("127.0.0.1", "localhost")
        async with open_stores(f"{url}?sslmode=verify-full&sslrootcert={tmp_path}/ours.pem") as stores:
            await stores.upkeep.probe()
        with pytest.raises(StoreUnavailable, match="certificate verify failed"):
            async with open_stores(f"{url}?sslmode=verify-full&sslrootcert={tmp_path}/other.pem"):
                pass


def self_signed(name: str) -> tuple[bytes, bytes]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM), private
