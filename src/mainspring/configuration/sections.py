"""Every section of a document, in the order in which they build on each other. A new kind of thing gets a line here."""

from mainspring.configuration.alerts import AlertSection
from mainspring.configuration.endpoints import EndpointSection
from mainspring.configuration.jobs import JobSection
from mainspring.configuration.planning import Section
from mainspring.configuration.webhooks import WebhookSection
from mainspring.configuration.workflows import WorkflowSection

SECTIONS: tuple[Section, ...] = (JobSection(), EndpointSection(), AlertSection(), WebhookSection(), WorkflowSection())
