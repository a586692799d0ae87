"""Kinds of endpoints: what each is configured by, how that is checked, and what its results show. One module each."""
