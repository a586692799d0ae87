"""Documents on both databases, at the desk of one tenant."""

from tests.operations.conftest import desk
from tests.stores.databases import clock, other_stores, shared_postgres_url, store_url, stores

__all__ = ["clock", "desk", "other_stores", "shared_postgres_url", "store_url", "stores"]
