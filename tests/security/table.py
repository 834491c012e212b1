"""All threats. A part of the product that has threats of its own adds its tuple here."""

from __future__ import annotations

from tests.security import extension_threats, owner_threats, service_threats
from tests.security.threat import Threat

__all__ = ["THREATS"]

THREATS: tuple[Threat, ...] = (*extension_threats.THREATS, *owner_threats.THREATS, *service_threats.THREATS)
