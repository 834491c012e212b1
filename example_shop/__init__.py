"""Fair & Foul, a shop that sells weather by the jar: what a merchant writes around flask_paycheckout.

Read it in this order, one file each. What is sold and ordered: `products`, `basket`, `models`, `orders`. What every
merchant needs: `payments` (what an order costs, and that it is paid). Who owns the shop: `owner`. Then the features,
each of which can be taken away with its line in `app`: `stock`, `receipts`, `fulfilment`, `diary`, `payment_view`. Last
the money's way on to those who caught the weather: `suppliers`, `ledger`, `payouts`, and the features around them,
`earnings`, `bank_payouts`, `token_payouts`, `payout_desk`, `payout_command`.

`hooks` is where features attach, `app` puts all of it together, and `serving` runs it for `python -m example_shop`.
"""

from example_shop.app import create_app

__all__ = ["create_app"]
