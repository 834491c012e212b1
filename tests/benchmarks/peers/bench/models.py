"""The shop's own tables."""

from django.db import models
from payments.models import BasePayment


class Payment(BasePayment):
    """A payment of an order; its webhooks are found by an index, which a shop must add itself."""

    order_id = models.CharField(max_length=64, db_index=True)

    class Meta:
        app_label = "bench"
        indexes = (models.Index(fields=["token"]),)

    def get_failure_url(self) -> str:
        return "/failed"

    def get_success_url(self) -> str:
        return "/paid"


class Shipped(models.Model):
    """The row that the receiver of a payment's signal writes."""

    order_id = models.CharField(max_length=64)

    class Meta:
        app_label = "bench"
