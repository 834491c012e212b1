"""Fair & Foul, a shop that sells weather by the jar: what a merchant writes around flask_paycheckout.

Read it in this order, one file each: `products` (what is sold), `basket` and `orders` (how an order comes to be),
`payments` (what an order costs and what is heard of its payment), `fulfilment` (what happens once it is paid), `owner`
(what the shop's owner sees). `app` puts them together; `serving` runs the whole of it for `python -m example_shop`.
"""

from example_shop.app import create_app

__all__ = ["create_app"]
