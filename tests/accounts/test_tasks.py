"""The Celery tasks of a shop with several merchant accounts: each call is made with the account's own keys."""

from __future__ import annotations

from flask_paycheckout import tasks
from tests.accounts.conftest import Sellers, SigningService
from tests.payouts.shop import pays_out
from tests.test_tasks import run, with_celery


def test_each_task_signs_with_the_account_of_the_order_or_payout(market: Sellers, service: SigningService) -> None:
    shop = market.shop
    celery_app = with_celery(shop.app)
    of_ada, of_bo = (shop.has_deposit("completed", order_id) for order_id in ("o-1", "o-2"))
    pays_out(shop, "of-ada", account="ada")
    service.signed.clear()
    assert run(shop, tasks.SETTLE, of_bo) == "paid"
    assert service.signed == [("id-bo", of_bo)]
    service.signed.clear()
    assert run(shop, tasks.SEND_PAYOUTS)["sent"] == 1
    assert service.signed == [("token-ada", "fiat")]
    service.signed.clear()
    shop.clock.advance(minutes=2)
    assert run(shop, tasks.RECONCILE)["changed"] == 1
    assert {client_id for client_id, _ in service.signed} == {"id-ada"}
    assert shop.attempt(of_ada).status == "paid"
    celery_app.close()
