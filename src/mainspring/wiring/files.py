"""Manage how many files this process may open. Each run in flight is a socket, so the limit bounds the places.

At startup the soft limit is raised to the hard one. Half of the files belong to the web server (`api/server.py`), and
RESERVED to the database, logs and name lookups; the rest carries runs.
"""

import resource
from contextlib import suppress

FILES_MAX = 65_536  # enough for 10,000 places and as many connections; more only makes loops over all files longer
RESERVED = 128


def raise_file_limit() -> None:
    """Raises the soft limit to the hard one, or to FILES_MAX if that is lower. Never lowers it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return
    wanted = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    if wanted > soft:
        with suppress(ValueError, OSError):  # some systems have a lower limit that they do not report
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def file_limit(*, hard: bool = False) -> int:
    """How many files this process may open now, or could after `raise_file_limit`."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1 if hard else 0]
    return FILES_MAX if limit == resource.RLIM_INFINITY else limit


def places_within(files: int) -> int:
    """How many runs in flight a limit on open files allows; at least one."""
    return max(1, files // 2 - RESERVED)


def files_for(places: int) -> int:
    """The lowest limit on open files that allows this many runs in flight."""
    return 2 * (places + RESERVED)
