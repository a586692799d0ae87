"""Kinds of endpoints: their configuration, how it is checked, and what their results show. One module each."""
