"""How many days a certificate must still be valid: fields that `http` and `tls` share, and their verdict. Pure."""

from typing import Annotated

from mainspring.domain.config_field import About
from mainspring.domain.errors import InvalidInput

DAYS_MAX = 3_650
EXPIRING = "certificate_expiring"  # the code of a certificate that warns, or fails, because it expires soon
WarnDays = Annotated[
    int, About("A certificate with fewer days left is a warning: the run succeeds and says so.", most=DAYS_MAX)
]
FailDays = Annotated[int, About("A certificate with fewer days left is a failure.", most=DAYS_MAX)]


def check_days(warn_days: int, fail_days: int) -> None:
    if warn_days < fail_days:
        raise InvalidInput(
            f"warn_days {warn_days} is below fail_days {fail_days}, so nothing would warn; "
            "raise warn_days or lower fail_days",
            field="warn_days",
            value=warn_days,
        )


def expiry_of(days_left: int, warn_days: int, fail_days: int) -> tuple[bool, str] | None:
    """Whether a certificate fails because it expires soon, and the message; None if it is valid for long enough."""
    expires = f"expires in {days_left} days" if days_left >= 0 else f"expired {-days_left} days ago"
    if days_left < fail_days:
        return True, f"the certificate {expires}; at least {fail_days} must be left"
    return (False, f"the certificate {expires}; renew it") if days_left < warn_days else None
