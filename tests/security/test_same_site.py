"""The check that a payment form comes from the shop's own site, for each combination of headers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from werkzeug.middleware.proxy_fix import ProxyFix

from flask_paycheckout.security.signed_links import PAY
from tests.conftest import OpenShop
from tests.scripted import Shop

SHOP = "https://shop.example"


@dataclass(frozen=True)
class Deployment:
    """The address of a shop's requests, and all its own origins."""

    config: dict[str, Any]
    own: frozenset[str]
    base_url: str = SHOP
    headers: dict[str, str] = field(default_factory=dict)


DEPLOYMENTS = {
    "by its public address": Deployment({"PAYCHECKOUT_PUBLIC_URL": SHOP}, frozenset({SHOP})),
    "in a folder": Deployment({"PAYCHECKOUT_PUBLIC_URL": f"{SHOP}/sub"}, frozenset({SHOP})),
    "on a port": Deployment(
        {"PAYCHECKOUT_PUBLIC_URL": f"{SHOP}:8443"}, frozenset({f"{SHOP}:8443"}), base_url=f"{SHOP}:8443"
    ),
    "through a proxy that tells nothing": Deployment(
        {"PAYCHECKOUT_PUBLIC_URL": SHOP}, frozenset({SHOP, "http://10.0.0.5:8000"}), base_url="http://10.0.0.5:8000"
    ),
    "through a proxy that tells": Deployment(
        {"TRUSTED_HOSTS": ["shop.example"]},
        frozenset({SHOP}),
        base_url="http://10.0.0.5:8000",
        headers={"X-Forwarded-Proto": "https", "X-Forwarded-Host": "shop.example"},
    ),
    "by a trusted host": Deployment({"TRUSTED_HOSTS": ["shop.example"]}, frozenset({SHOP})),
    "by its server name": Deployment({"SERVER_NAME": "shop.example"}, frozenset({SHOP, "https://www.shop.example"})),
    "by its server name, through a proxy that tells nothing": Deployment(
        {"SERVER_NAME": "shop.example"},
        frozenset(
            f"{scheme}://{host}" for scheme in ("http", "https") for host in ("shop.example", "www.shop.example")
        ),
        base_url="http://shop.example",
    ),
}

SITES = (None, "same-origin", "none", "same-site", "cross-site", "", "Same-Origin", "same-origin, cross-site", "é")
ORIGINS = (
    *(None, "null", "", SHOP, "http://shop.example", f"{SHOP}:8443", f"{SHOP}/", "https://SHOP.example"),
    *("https://www.shop.example", "https://shop.example.evil.example", "https://shop.example@evil.example"),
    *(f"{SHOP}, https://evil.example", "https://evil.example", "http://10.0.0.5:8000", "http://10.0.0.5"),
    *("shop.example", "\xff", "http://www.shop.example", "https://www-shop.example"),
)


def opened(open_shop: OpenShop, deployment: Deployment) -> Shop:
    shop = open_shop(TESTING=False, **deployment.config)
    if deployment.headers:
        shop.app.wsgi_app = ProxyFix(shop.app.wsgi_app, x_proto=1, x_host=1)  # type: ignore[method-assign]
    return shop


def posts(shop: Shop, deployment: Deployment, **headers: str | None) -> int:
    """Send a form; returns the status. Each argument is a header, which None leaves out."""
    token = shop.runtime.signed_links.sign(PAY, "o-1")
    sent = {name.replace("_", "-"): value for name, value in headers.items() if value is not None} | deployment.headers
    answer = shop.browser.post(f"/paycheckout/orders/{token}/checkout", headers=sent, base_url=deployment.base_url)
    return answer.status_code


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_exactly_the_shops_own_pages_may_send_the_form(open_shop: OpenShop, name: str) -> None:
    deployment = DEPLOYMENTS[name]
    shop = opened(open_shop, deployment)
    sites = [(site, origin) for site in SITES for origin in (None, SHOP, "https://evil.example")]
    origins = [(site, origin) for site in (None, "same-site") for origin in ORIGINS]
    for site, origin in {*sites, *origins}:
        own = site in {"same-origin", "none"} or (site in {None, "same-site"} and origin in deployment.own)
        status = posts(shop, deployment, Sec_Fetch_Site=site, Origin=origin)
        assert status == (303 if own else 403), (site, origin)
    assert len(shop.service.created) == 1


def test_the_referer_does_not_matter(open_shop: OpenShop) -> None:
    """Our pages and privacy tools send no Referer, and old browser bugs let others forge it."""
    deployment = DEPLOYMENTS["by its public address"]
    shop = opened(open_shop, deployment)
    statuses = {("same-origin", None): 303, (None, SHOP): 303, (None, None): 403, ("cross-site", SHOP): 403}
    for (site, origin), status in statuses.items():
        for referer in (f"{SHOP}/orders/1", "https://evil.example/"):
            assert posts(shop, deployment, Sec_Fetch_Site=site, Origin=origin, Referer=referer) == status, referer


HOSTS = ("", "evil.example", "evil.example@shop.example", "shop.example:x", "[::1", "a b", "shop.example, evil.example")


@pytest.mark.parametrize("name", ["by its public address", "by a trusted host", "by its server name"])
def test_no_host_header_makes_another_site_the_shops_own(open_shop: OpenShop, name: str) -> None:
    shop = opened(open_shop, DEPLOYMENTS[name])
    origins = ("https://evil.example.org", "https://")
    # The headers that a proxy would add, which no middleware of this shop trusts.
    proxy = {"X_Forwarded_Host": "evil.example.org", "X_Forwarded_Proto": "https"}
    for host, origin, site in product(HOSTS, origins, (None, "same-site")):
        status = posts(shop, DEPLOYMENTS[name], Sec_Fetch_Site=site, Origin=origin, Host=host, **proxy)
        assert status in {400, 403}, (host, origin, site)
    assert shop.service.created == []
