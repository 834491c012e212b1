"""Fair & Foul, an example shop that sells weather by the jar: the code that a merchant writes around flask_paycheckout.

Read the files in this order. Products and orders: `products`, `basket`, `database`, `orders`. The part that every
merchant needs: `payments` (the total of an order, and closing it when it is paid). The owner's pages: `owner`. Then the
features, each of which can be removed together with its line in `app`: `stock`, `receipts` and `fulfilment`. Last the
money that goes out: `suppliers` and `refunds`.

Features attach to the signals of `hooks`, and to pages by their templates. `settings` has the defaults, `app` assembles
everything, and `serving` runs it for `python -m example_shop`.
"""

from example_shop.app import create_app

__all__ = ["create_app"]
