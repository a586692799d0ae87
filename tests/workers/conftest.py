"""The workers are tested on both databases, with a clock that only moves when it is told to."""

from tests.stores.databases import clock, other_stores, shared_postgres_url, store_url, stores

__all__ = ["clock", "other_stores", "shared_postgres_url", "store_url", "stores"]
