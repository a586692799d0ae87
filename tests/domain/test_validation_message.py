"""What a parser found unfit is told as the rule and the way out, never in the parser's words."""

import pytest

from mainspring.domain.errors import Misconfigured
from mainspring.settings import load_settings

SETTINGS = {
    "PORT=abc": "is not a whole number; write it in digits",
    "PORT=70000": "is above the maximum; give 65535 or less",
    "DATABASE_POOL=1": "is below the minimum; give 2 or more",
    "MODEL_PRICE_IN=cheap": "is not a number; write it like 0.5",
    "PGBOUNCER=maybe": "is neither true nor false; write one of them",
    "LOG_LEVEL=inf": "is not one of debug, info, warning, error, did you mean 'info'?",
    "OIDC_ROLE=king": "is not one of viewer, operator, owner; choose one",
    "ALLOW_CIDRS=home": "'home' is not a network; write networks like 127.0.0.0/8,10.1.0.0/16",
    "ALLOW_CIDRS=10.0.0.1/8": "inside the network 10.0.0.0/8; write the network, or /32 for this address alone",
    "ALLOW_PORTS=80,x": "'x' is not a whole number; write numbers like 443,8443",
    "WORKFLOW_PARTITIONS_OWNED=-1": "'-1' is not a whole number; write numbers like 0,2",
    "PUBLIC_URL=spring": "include scheme and host, like https://mainspring.example.com",
    "KEEP_RUNS=x": "'x' is not a duration; units are d, h, m, s, ms",
}


@pytest.mark.parametrize("line", SETTINGS)
def test_setting_is_refused_with_its_value_the_rule_and_the_way_out(line: str) -> None:
    name, _, value = line.partition("=")

    with pytest.raises(Misconfigured) as refused:
        load_settings({f"MAINSPRING_{name}": value})

    assert str(refused.value).startswith(f"MAINSPRING_{name}={value!r}")
    assert SETTINGS[line] in str(refused.value)
    assert not any(word in str(refused.value) for word in ("Input", "Value error", "String", "pattern"))
