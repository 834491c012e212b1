"""The whole payments service as typed Python; needs no Flask and no database.

    >>> from flask_paycheckout import Pay
    >>> from flask_paycheckout.client import PaymentsClient
    >>> client = PaymentsClient(
    ...     "http://127.0.0.1:8790",
    ...     client_id="sandbox-client",
    ...     client_secret="sandbox-secret-0123456789abcdef",
    ...     access_token="sandbox-access-token",
    ... )
    >>> print(client.checkouts.create(Pay("12.50", "USD")).url)
    http://127.0.0.1:8790/checkout/...

Each part of the service is an attribute of the client, and has a page with an example:
`python -m pydoc flask_paycheckout.client.resources.auth`, `.checkouts`, `.deposits`, `.fiat_disbursements`,
`.crypto_disbursements`, `.recipients`, `.payments` and `.references`; the last two are deprecated by the service and
warn. Records that are sent and received stand beside the calls that use them, and can be imported from here.

The examples run as they stand, with this client, against `python -m flask_paycheckout.sandbox --control-token control`.
For the acts of customers and banks they use the sandbox's control interface:

    >>> import httpx
    >>> sandbox = httpx.Client(base_url="http://127.0.0.1:8790/_sandbox/", headers={"X-Sandbox-Control": "control"})

Every response of the service is a JSON envelope `{statusCode, message, data}`, or `{statusCode, error, message}` for a
refusal. The `statusCode` in the body decides, never the HTTP status. Amounts are exact `Decimal`s both ways,
timestamps aware `datetime`s in UTC, ids opaque strings.

Every call ends within the client's `timeout`, retries included, with a record or with an error: a
`RequestRefused` when the service said no, a `TransportFailed` when no usable answer came, and of those an
`OutcomeUnknown` when money may have moved all the same; `python -m pydoc flask_paycheckout.client.errors` has all.
"""

from __future__ import annotations

import lazy_loader

# Without `__dir__`: `pydoc` would load all of these names and bury the text above under their pages.
__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)
