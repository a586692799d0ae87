"""Actions of endpoints in tests, typed by what the test is about."""

from mainspring.domain.endpoint import EndpointConfig
from mainspring.domain.run import HttpAction, Request


def http_of(holder: EndpointConfig | Request) -> HttpAction:
    """The request of an endpoint or a call that the test has made of kind `http`."""
    assert isinstance(holder.action, HttpAction), holder
    return holder.action
