"""Mainspring: a scheduler for HTTP jobs that adapts to what the responses say and explains every decision."""

__version__ = "0.1.0"
