"""The shop as its pages show it: name, logo, colour, and how to reach it."""

from __future__ import annotations

from typing import Any

from flask import current_app

from flask_paycheckout.views.colours import readable_accents
from flask_paycheckout.views.language import page_settings


def shop_shown() -> dict[str, Any]:
    """The facts of the shop, or of the merchant account, whose page it is; templates call them `shop`.

    `accents` has the accent colour in light and in dark, and is empty where the shop has set none. `contact` is the
    address of a link, and `new_tab` says whether the service's payment page opens in a new tab.
    """
    own = page_settings()
    return {
        "name": own.shop_name or current_app.name,
        "logo": own.logo,
        "accents": readable_accents(own.accent) if own.accent else (),
        "contact": own.contact,
        "seller": own.seller,
        "new_tab": own.new_tab,
    }
