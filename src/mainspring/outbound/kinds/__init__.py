"""Callers of the kinds of endpoints besides `http`: one module each, and what they share."""
