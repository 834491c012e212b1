"""Pictures of pages: those in README and the documentation, or one of every page for people to look at.

    python -m tests.browser.pictures [FOLDER]

makes those in `.pictures/` anew; run it when one of the pages looks different. With a folder it writes there
`<page>-<width>-<theme>.png` of every page in every state, and says which of them have a fault.
"""

from __future__ import annotations

import argparse
from base64 import b64encode
from io import BytesIO
from itertools import product
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from example_shop.serving import Demo
from tests.browser.chromium import opened
from tests.browser.gallery import Gallery, Scene
from tests.browser.looking import WIDTHS, Theme, faults, turn
from tests.optional_parts import chromium

_FOLDER = Path(__file__).parents[2] / ".pictures"
_PHONE, _DESK = 400, 820
#: The scenes side by side in each picture with their widths, and the height.
_PICTURES: dict[str, tuple[dict[str, int], int]] = {
    "path": ({"shop/order-created": _PHONE, "hosted/scan": _PHONE, "status/paid": _PHONE}, 820),
    "payment-page": ({"hosted/choose": _PHONE, "hosted/scan": _PHONE}, 820),
    "refund": ({"refund/claimable": _PHONE, "owner/payout-waiting": _DESK}, 760),
    "held": ({"owner/order-held": _DESK}, 800),
    "books": ({"owner/books": _DESK}, 620),
    "inspector": ({"inspector/checkout": 1100}, 800),
}
_FRAME = """<!doctype html><body style="display: flex; gap: 24px; margin: 0; padding: 24px; background: #d5dde7">
{}</body>"""
# Enough for flat pages, and the file is much smaller.
_COLOURS = 64


def main() -> None:
    parser = argparse.ArgumentParser(description="Take pictures of pages.")
    parser.add_argument("folder", type=Path, nargs="?", help="of every page; without one, those of the documentation")
    folder = parser.parse_args().folder
    with Demo(reconciler=False) as demo, sync_playwright() as playwright, opened(playwright, chromium()) as browser:
        page = browser.new_context(device_scale_factor=1.5, reduced_motion="reduce").new_page()
        scenes = Gallery(demo).scenes()
        if folder is None:
            _document(page, {scene.name: scene for scene in scenes})
        else:
            folder.mkdir(parents=True, exist_ok=True)
            for scene in scenes:
                scene.show(page)
                _take(page, scene, folder)


def _take(page: Page, scene: Scene, folder: Path) -> None:
    themes: tuple[Theme, ...] = ("light", "dark")
    for width, theme in product(WIDTHS, themes):
        turn(page, width, theme)
        name = scene.name.replace("/", "-")
        page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
    for fault in faults(page):
        print(f"{scene.name}: {fault}")


def _document(page: Page, scenes: dict[str, Scene]) -> None:
    # Only a browser that has seen the order is told which one it is.
    scenes["shop/order-paid"].show(page)
    for name, (shown, height) in _PICTURES.items():
        shots = []
        for scene, width in shown.items():
            page.set_viewport_size({"width": width, "height": height})
            if scene == "owner/payout-waiting":
                scenes["shop/owner"].show(page)  # logs in, after the customer's pages
            scenes[scene].show(page)
            shots.append(_image(page.screenshot(), width, height))
        page.set_viewport_size({"width": sum(shown.values()) + 24 * (len(shown) + 1), "height": height + 48})
        page.goto("about:blank")  # the last page's policy would forbid the styles
        page.set_content(_FRAME.format("".join(shots)))
        _save(page, _FOLDER / f"{name}.png")


def _image(shot: bytes, width: int, height: int) -> str:
    return f'<img width="{width}" height="{height}" src="data:image/png;base64,{b64encode(shot).decode()}">'


def _save(page: Page, file: Path) -> None:
    Image.open(BytesIO(page.screenshot())).convert("RGB").quantize(_COLOURS).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
