"""The ports: what workers and operations need from the outside, each method a written promise.

Stores use the clock of their database: whether something is due, valid or over is decided by that clock, never by a
worker's. A store method is one query or one transaction; it decides nothing itself but applies the domain's pure
functions to rows it has locked. Every store has two implementations; the behaviour suite in `tests/stores` runs on
both.
"""
