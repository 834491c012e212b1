"""The inspector: pages for developers at `/` and below `/inspector/`, which show and control a sandbox.

One module per page. Only browsers on this machine may read them, and only these pages can send their forms.
"""

from flask_paycheckout.sandbox.inspector import (
    accounts,
    checkouts,
    deposits,
    disbursements,
    events,
    levers,
    mails,
    overview,
    payments,
    recipients,
    requests,
    reset,
    search,
    unknowns,
    webhooks,
)
from flask_paycheckout.sandbox.inspector.blueprint import inspector

PAGES = (
    *(overview, search, events, checkouts, deposits, disbursements, payments, recipients, accounts),
    *(requests, mails, webhooks, levers, reset, unknowns),
)
"""All pages; importing a module adds its routes to the blueprint."""

__all__ = ["PAGES", "inspector"]
