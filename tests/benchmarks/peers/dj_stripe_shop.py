"""A shop on dj-stripe: a signed event is stored, its object read again upstream, and one receiver told."""

import os
import sys

from configured import configure, make_tables, served

_KEY = "sk_test_" + "b" * 24

configure(
    __name__,
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "djstripe",
    "bench",
    DJSTRIPE_FOREIGN_KEY_TO_FIELD="id",
    STRIPE_LIVE_MODE=False,
    STRIPE_TEST_SECRET_KEY=_KEY,
    PAYMENT_HOST="127.0.0.1",
    PAYMENT_MODEL="bench.Payment",
)

import stripe  # noqa: E402 - after the settings, as its own documentation has it
from bench.models import Shipped  # noqa: E402
from django.urls import include, path  # noqa: E402
from djstripe.event_handlers import djstripe_receiver  # noqa: E402
from djstripe.models import Account, APIKey, WebhookEndpoint  # noqa: E402

stripe.api_base = os.environ["BENCH_SERVICE"]
stripe.max_network_retries = 0
stripe.api_key = _KEY


@djstripe_receiver("coupon.created")
def _ship(sender: object, event: object, **extra: object) -> None:
    Shipped.objects.create(order_id="order")


urlpatterns = [path("stripe/", include("djstripe.urls", namespace="djstripe"))]
application = served()

if __name__ == "__main__":
    make_tables()
    account = Account.objects.create(id="acct_bench", livemode=False)
    APIKey.objects.create(id="key_bench", secret=_KEY, type="secret", livemode=False, djstripe_owner_account=account)
    WebhookEndpoint.objects.create(
        id="we_bench",
        djstripe_uuid="11111111-1111-4111-8111-111111111111",
        djstripe_validation_method="verify_signature",
        url="http://127.0.0.1/",
        secret="whsec_bench",
        status="enabled",
        livemode=False,
        api_version="2020-08-27",
        enabled_events=["*"],
    )
    sys.exit()
