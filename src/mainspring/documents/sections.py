"""Every section of a document, in the order of their dependencies. A new kind of entry gets a line here."""

from mainspring.documents.alerts import AlertSection
from mainspring.documents.calendars import CalendarSection
from mainspring.documents.connections import ConnectionSection
from mainspring.documents.endpoints import EndpointSection
from mainspring.documents.jobs import JobSection
from mainspring.documents.maintenance import MaintenanceSection
from mainspring.documents.plan import Section
from mainspring.documents.webhooks import WebhookSection
from mainspring.documents.workflows import WorkflowSection

SECTIONS: tuple[Section, ...] = (
    ConnectionSection(),
    CalendarSection(),
    JobSection(),
    EndpointSection(),
    MaintenanceSection(),
    AlertSection(),
    WebhookSection(),
    WorkflowSection(),
)
