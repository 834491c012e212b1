"""A shop on django-payments, with a provider for the service written as its documentation says."""

import json
import os
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import django
import requests
from django.conf import settings


def _database(address: str) -> dict[str, Any]:
    url = urlsplit(address)
    if url.scheme == "sqlite":
        options = {"timeout": 30, "transaction_mode": "IMMEDIATE"}
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": url.path[1:], "OPTIONS": options, "CONN_MAX_AGE": None}
    place = parse_qs(url.query)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(url.path[1:]),
        "USER": url.username,
        "HOST": place["host"][0],
        "PORT": place["port"][0],
        "CONN_MAX_AGE": None,
    }


# The settings of a small shop in production, without middleware that its routes do not need.
settings.configure(
    SECRET_KEY="bench-" + "x" * 50,
    ALLOWED_HOSTS=["*"],
    DATABASES={"default": _database(os.environ["BENCH_DATABASE"])},
    INSTALLED_APPS=["payments", "bench"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    LOGGING_CONFIG=None,
    # Tables are created in their current form, without running old migrations.
    MIGRATION_MODULES={"payments": None, "bench": None},
    PAYMENT_HOST="127.0.0.1",
    PAYMENT_MODEL="bench.Payment",
    PAYMENT_VARIANTS={"service": (f"{__name__}.ServiceProvider", {})},
)
django.setup()

from bench.models import Payment, Shipped  # noqa: E402 - models can be imported once Django is set up
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from payments import PaymentStatus, RedirectNeeded  # noqa: E402
from payments.core import BasicProvider  # noqa: E402
from payments.signals import status_changed  # noqa: E402

# The connection is kept, like the database's connections.
_service = requests.Session()
_service.trust_env = False
_address = os.environ["BENCH_SERVICE"]


class ServiceProvider(BasicProvider):
    def get_form(self, payment: Payment, data: object = None) -> object:
        body = {"inputCurrency": payment.currency, "inputAmount": float(payment.total)}
        checkout = _service.post(f"{_address}/v1/checkout", json=body, timeout=15).json()["data"]
        payment.transaction_id = checkout["id"]
        payment.save(update_fields=("transaction_id",))
        raise RedirectNeeded(checkout["url"])

    def process_data(self, payment: Payment, request: HttpRequest) -> HttpResponse:
        if payment.status != PaymentStatus.CONFIRMED:
            answer = _service.get(f"{_address}/v1/deposit/{payment.transaction_id}", timeout=15)
            deposit = json.loads(answer.content, parse_float=Decimal)["data"]
            paid = (deposit["depositId"], deposit["status"], deposit["inputAmount"], deposit["inputCurrency"])
            if paid == (payment.transaction_id, "completed", payment.total, payment.currency):
                payment.change_status(PaymentStatus.CONFIRMED)
        return JsonResponse({"received": True})


def _ship(sender: object, instance: Payment, **extra: object) -> None:
    if instance.status == PaymentStatus.CONFIRMED:
        Shipped.objects.create(order_id=instance.order_id)


status_changed.connect(_ship)


@csrf_exempt
def start(request: HttpRequest, order_id: str) -> HttpResponse:
    payment = Payment.objects.create(variant="service", order_id=order_id, total=Decimal("12.50"), currency="USD")
    try:
        payment.get_form()
    except RedirectNeeded as needed:
        return HttpResponse(status=303, headers={"Location": str(needed)})
    return HttpResponse(status=500)


urlpatterns = [path("orders/<str:order_id>/checkout", start), path("payments/", include("payments.urls"))]
application = WSGIHandler()

if __name__ == "__main__":
    call_command("migrate", run_syncdb=True, verbosity=0)
