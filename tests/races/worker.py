"""One process of the soak: for each line "checkout order" it hears of, it looks for the payment in four ways at once.

It answers each line with what its callers would have seen.
"""

from __future__ import annotations

import json
import sys

from tests.races.crowds import crowd
from tests.races.shop_app import create_app, paycheckout


def main() -> None:
    app = create_app()
    with crowd(4) as threads:
        print("ready", flush=True)
        for line in sys.stdin:
            checkout_id, order_id = line.split()

            def posts_webhook(checkout_id: str = checkout_id) -> object:
                return app.test_client().post("/paycheckout/webhook", json={"orderId": checkout_id}).status_code

            def opens_page(order_id: str = order_id) -> object:
                with app.app_context():
                    url = paycheckout.status_url(order_id)
                return app.test_client().get(url + "/status").status_code

            def reconciles() -> object:
                with app.app_context():
                    return paycheckout.reconcile().failed

            def settles(checkout_id: str = checkout_id) -> object:
                with app.app_context():
                    return paycheckout.settle(checkout_id).status

            print(json.dumps(threads.does([posts_webhook, opens_page, reconciles, settles])), flush=True)


if __name__ == "__main__":
    main()
