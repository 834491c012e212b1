"""The pages for a developer looking over the sandbox's shoulder: `GET /` and what hangs below `/inspector/`.

One module per page. Reading needs a browser on this machine; the levers are forms that only these pages can send.
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

#: Every page; importing one puts its routes on the blueprint.
PAGES = (overview, checkouts, disbursements, payments, requests, mails, webhooks, levers, reset, unknowns)

__all__ = ["PAGES", "inspector"]
