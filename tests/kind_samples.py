"""One endpoint of every kind besides `http`, as a user writes it: every field of the kind has a value."""

from typing import Any

from mainspring.domain.config_field import FieldKind
from mainspring.domain.duration import parse_duration_ms
from mainspring.domain.endpoint import CONFIG_FIELDS

SAMPLES: dict[str, dict[str, Any]] = {
    "tcp": {
        "kind": "tcp", "host": "db.example.com", "port": 5432, "send": "PING\\r\\n", "expect": "+PONG", "read": True,
        "tls": True, "timeout": "2s", "body_cap": 1000, "condition": "body.bytes > 0", "literal": True,
    },
    "tls": {
        "kind": "tls", "host": "example.com", "port": 8443, "server_name": "www.example.com", "verify": False,
        "warn_days": 30, "fail_days": 7, "timeout": "2s", "body_cap": 1000, "condition": "body.days_left > 20",
    },
    "dns": {
        "kind": "dns", "host": "example.com", "record": "MX", "resolver": "9.9.9.9:5353",
        "answers": ["10 mail.example.com", "20 mail2.example.com"], "answers_match": "exact", "timeout": "2s",
        "body_cap": 1000, "condition": "body.ttl > 60",
    },
    "ping": {
        "kind": "ping", "host": "example.com", "count": 5, "spacing": "300ms", "max_loss": 20, "timeout": "2s",
        "body_cap": 1000, "condition": "body.rtt_avg_ms < 100.0",
    },
    "command": {
        "kind": "command", "command": ["/usr/local/bin/backup", "--full"], "shell": False, "folder": "/srv/backup",
        "user": "backup", "exit_codes": [0, 3], "timeout": "2s", "body_cap": 1000,
        "condition": "status_code == 0 && body.files > 0", "literal": True,
    },
    "queue": {
        "kind": "queue", "broker": "amqp://mq.example.com/shop", "destination": "orders", "structure": "stream",
        "exchange": "sales", "username": "ann", "body": '{"n": 1}', "timeout": "2s", "body_cap": 1000,
        "condition": "body.confirmed", "literal": True,
    },
    "heartbeat": {
        "kind": "heartbeat", "grace": "10m", "max_duration": "2h", "timeout": "2s", "body_cap": 1000,
        "condition": "status_code == 0",
    },
}  # fmt: skip
COMMANDS = "/usr/local/bin/backup = default, folder /srv, user backup, env BACKUP_*"  # what the operator allows
# What a list shows of each.
TARGETS = {
    "tcp": "tcp db.example.com:5432 over TLS",
    "tls": "tls example.com:8443 as www.example.com",
    "dns": "dns MX example.com from 9.9.9.9:5353",
    "ping": "ping example.com",
    "command": "/usr/local/bin/backup --full",
    "queue": "orders at amqp://mq.example.com/shop through sales",
    "heartbeat": "waits for pings",
}


def durations(sample: dict[str, Any]) -> dict[str, int]:
    """The durations of a sample in milliseconds, as the views show them."""
    kinds = {field.key: field.kind for field in CONFIG_FIELDS}
    return {key: parse_duration_ms(each, field=key) for key, each in sample.items() if kinds[key] is FieldKind.DURATION}


def options_of(sample: dict[str, Any]) -> list[str]:
    """The sample as options of the command line."""
    found: list[str] = []
    for key, value in sample.items():
        option = f"--{key.replace('_', '-')}"
        if isinstance(value, bool):
            found.append(option if value else f"--no-{option[2:]}")
        elif isinstance(value, list):
            found += [part for each in value for part in (option, str(each))]
        else:
            found += [option, str(value)]
    return found
