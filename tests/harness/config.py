"""Configurations of endpoints, written in one line."""

from mainspring.domain.endpoint import EndpointConfig, with_values
from mainspring.domain.run import HttpAction


def a_config(name: str, url: str, **values: object) -> EndpointConfig:
    """The configuration with these values, by the names of their fields; the rest has its defaults."""
    return with_values(EndpointConfig(name, HttpAction(url)), values)


def edited(config: EndpointConfig, **values: object) -> EndpointConfig:
    return with_values(config, values)
