"""A shop on django-payments, with a provider for the service written as its documentation says."""

import json
import os
import sys
from decimal import Decimal

import requests
from configured import configure, make_tables, served

configure(
    __name__,
    "payments",
    "bench",
    PAYMENT_HOST="127.0.0.1",
    PAYMENT_MODEL="bench.Payment",
    PAYMENT_VARIANTS={"service": (f"{__name__}.ServiceProvider", {})},
)

from bench.models import Payment, Shipped  # noqa: E402 - models can be imported once Django is set up
from django.http import HttpRequest, HttpResponse, JsonResponse  # noqa: E402
from django.urls import include, path  # noqa: E402
from django.views.decorators.csrf import csrf_exempt  # noqa: E402
from payments import PaymentStatus, RedirectNeeded  # noqa: E402
from payments.core import BasicProvider  # noqa: E402
from payments.signals import status_changed  # noqa: E402

# Its connection is kept, as those to the database are.
_service = requests.Session()
_service.trust_env = False
_address = os.environ["BENCH_SERVICE"]


class ServiceProvider(BasicProvider):
    def get_form(self, payment: Payment, data: object = None) -> object:
        asked = {"inputCurrency": payment.currency, "inputAmount": float(payment.total)}
        made = _service.post(f"{_address}/v1/checkout", json=asked, timeout=15).json()["data"]
        payment.transaction_id = made["id"]
        payment.save(update_fields=("transaction_id",))
        raise RedirectNeeded(made["url"])

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
application = served()

if __name__ == "__main__":
    make_tables()
    sys.exit()
