"""The seams: what the workers and operations need from the world, each method a written promise.

Stores keep their own clock (the database's): whatever is due, fresh or over is so by that clock, never by a worker's.
A store method is one query or one transaction; it decides nothing itself, it applies the domain's pure functions to
rows it has locked. Two implementations exist for every store; the behaviour suite in `tests/stores` runs on both.
"""
