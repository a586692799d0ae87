"""A primary and a streaming standby, of which the standby is promoted again and again.

    with Pair(synchronous=True) as pair:
        url = pair.create_database("demo")      # names both hosts
        pair.fail_over("kill")                  # the primary dies, the standby is promoted
        pair.bring_back()                       # the former primary follows, and would be the next to take over

The pair does what an operator or Patroni does: the old primary is stopped before the standby is promoted, and a primary
without a standby waits for none.
"""

import time
from types import TracebackType
from typing import Self

from tests.harness.postgres import Cluster, StopMode
from tests.harness.waiting import wait_until

# As a machine that can be rewound needs them: hints in the log, and the log of a few rounds.
SETTINGS = {"wal_log_hints": "on", "wal_keep_size": "1GB"}
FOLLOWS = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND (sync_state = 'sync') = {}"
BEHIND = "SELECT COALESCE(max(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)), 1) > 0 FROM pg_stat_replication"


class Pair:
    """`primary` and `standby` change places with every `fail_over`."""

    def __init__(self, *, synchronous: bool) -> None:
        self.synchronous = synchronous
        self.primary = Cluster(fsync=True, settings=SETTINGS)
        self.standby = Cluster(fsync=True, settings=SETTINGS, standby_of=self.primary)
        self._first, self._second = self.primary, self.standby

    def create_database(self, name: str) -> str:
        """The URL of a new database, with both hosts in it."""
        self.primary.create_database(name)
        wait_until(lambda: self.primary.execute(BEHIND) == "f", "the standby has the database")
        ports = f"{self._first.port},{self._first.host}:{self._second.port}"
        return self._first.url(name).replace(f":{self._first.port}/", f":{ports}/")

    def fail_over(self, mode: StopMode) -> float:
        """Stop the primary, promote the standby; when the standby was told to take over."""
        self.primary.stop(mode)
        self.primary, self.standby = self.standby, self.primary
        told_at = time.time()
        self.primary.promote()
        return told_at

    def bring_back(self) -> None:
        """Returns when the former primary follows, and commits wait for it if the pair is synchronous."""
        if not self.standby.is_running:
            self.standby.rejoin(self.primary)
            self._wait_for_standby()

    def cut(self) -> None:
        """The standby no longer receives what the primary writes, and the primary does not wait for it."""
        self.standby.execute("ALTER SYSTEM SET primary_conninfo = ''")
        self.standby.execute("SELECT pg_reload_conf()")
        wait_until(
            lambda: self.primary.execute("SELECT count(*) FROM pg_stat_replication") == "0", "the standby is cut"
        )

    def __enter__(self) -> Self:
        try:
            self.primary.start()
            self.standby.start()
            self._wait_for_standby()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._second.close()
        self._first.close()

    def _wait_for_standby(self) -> None:
        if self.synchronous:
            self.primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            self.primary.execute("SELECT pg_reload_conf()")
        wanted = FOLLOWS.format(self.synchronous)
        wait_until(lambda: self.primary.execute(wanted) == "1", "the standby follows the primary")
