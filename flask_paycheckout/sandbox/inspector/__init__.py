"""The inspector: pages for developers at `/` and below `/inspector/`, which show and control a sandbox.

One module per page. Only browsers on this machine may read them, and only these pages can send their forms.
"""

from flask_paycheckout.sandbox.inspector import (
    checkouts,
    disbursements,
    levers,
    mails,
    overview,
    payments,
    requests,
    reset,
    unknowns,
    webhooks,
)
from flask_paycheckout.sandbox.inspector.blueprint import inspector

PAGES = (overview, checkouts, disbursements, payments, requests, mails, webhooks, levers, reset, unknowns)
"""All pages; importing a module adds its routes to the blueprint."""

__all__ = ["PAGES", "inspector"]
