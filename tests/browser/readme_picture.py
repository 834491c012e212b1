"""README's picture of the path: an order, the payment page, and the status page after the payment.

    python -m tests.browser.readme_picture

makes `.pictures/path.png` anew; run it when one of the three pages looks different.
"""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from example_shop.payments import paycheckout
from example_shop.serving import Demo
from tests.browser.conftest import opened
from tests.browser.gallery import Gallery
from tests.optional_parts import chromium

_PICTURE = Path(__file__).parents[2] / ".pictures" / "path.png"
_PHONE: ViewportSize = {"width": 400, "height": 960}
_FRAME = """<!doctype html><body style="display: flex; gap: 24px; margin: 0; padding: 24px; background: #d5dde7">
{}</body>"""
# Enough for flat pages, and the file is much smaller.
_COLOURS = 256


def main() -> None:
    with Demo(reconciler=False) as demo, sync_playwright() as playwright, opened(playwright, chromium()) as browser:
        page = browser.new_context(viewport=_PHONE, device_scale_factor=1.5, reduced_motion="reduce").new_page()
        shots = [shot_of(page, url) for url in path(Gallery(demo))]
        page.set_viewport_size({"width": 3 * (_PHONE["width"] + 24) + 24, "height": _PHONE["height"] + 48})
        page.goto("about:blank")  # the last page's policy would forbid the styles
        page.set_content(_FRAME.format("".join(shots)))
        picture = Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(_COLOURS)
    picture.save(_PICTURE, optimize=True)
    print(f"{_PICTURE}: {_PICTURE.stat().st_size // 1024} KB")


def path(gallery: Gallery) -> tuple[str, str, str]:
    """Where the customer goes."""
    with gallery.demo.app.app_context():
        status = paycheckout.status_url(gallery.orders["paid"])
    shop, sandbox = gallery.demo.shop_url, gallery.demo.sandbox_url
    return f"{shop}/orders/{gallery.orders['qr']}", f"{sandbox}/checkout/{gallery.checkouts['qr']}", status


def shot_of(page: Page, url: str) -> str:
    page.goto(url)
    data = b64encode(page.screenshot()).decode()
    return f'<img width="{_PHONE["width"]}" height="{_PHONE["height"]}" src="data:image/png;base64,{data}">'


if __name__ == "__main__":
    main()
