"""Pictures of pages: the pictures in README and the documentation, or one of every page for people to look at.

    python -m tests.browser.pictures [FOLDER [NAME ...]]

remakes the pictures in `.pictures/`; run it when one of the pages looks different. With a folder it writes
`<page>-<width>-<theme>.png` there for every page in every state, or for pages whose name begins with one of the names,
and reports pages with faults; customers' and owners' pages are also written as printed.
"""

from __future__ import annotations

import argparse
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from itertools import product
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, TemplateNotFound
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from example_shop.serving import running_demo
from tests.browser.chromium import opened
from tests.browser.gallery import Gallery, Scene
from tests.browser.looking import Theme, faults, turn
from tests.optional_parts import chromium
from tests.ports import free_port

_FOLDER = Path(__file__).parents[2] / ".pictures"
_PHONE, _DESK = 400, 820
#: The scenes of each picture, side by side, with their widths; and the picture's height.
_PICTURES: dict[str, tuple[dict[str, int], int]] = {
    "path": (
        {"shop/order-created": _PHONE, "hosted/scan": _PHONE, "status/paid": _PHONE, "owner/orders": _DESK},
        820,
    ),
    "payment-page": ({"hosted/choose": _PHONE, "hosted/scan": _PHONE}, 820),
    "refund": ({"refund/claimable": _PHONE, "owner/payout-waiting": _DESK}, 760),
    "held": ({"owner/order-held": _DESK}, 800),
    "books": ({"owner/books": _DESK}, 620),
    "inspector": ({"inspector/checkout": 1100}, 800),
}
_FRAME = """<!doctype html><body style="display: flex; gap: 24px; margin: 0; padding: 24px; background: #d5dde7">
{}</body>"""
#: The widths of a usual phone, a desktop, and A4 paper without its margins, in pixels.
_SHOWN_WIDTHS, _PAPER = (390, 1280), 640
_PRINTED = ("status/", "refund/", "request/", "owner/")
# Enough colours for flat pages, which makes the file much smaller.
_COLOURS = 128


def main() -> None:
    parser = argparse.ArgumentParser(description="Take pictures of pages.")
    parser.add_argument("folder", type=Path, nargs="?", help="of every page; without one, those of the documentation")
    parser.add_argument("names", nargs="*", help="such as status/ or refund/claimable")
    parser.add_argument("--plain", action="store_true", help="customers' pages in their own frame, not the shop's")
    arguments = parser.parse_args()
    folder, names = arguments.folder, tuple(arguments.names) or ("",)
    with (
        running_demo(free_port(), free_port(), free_port()) as demo,
        sync_playwright() as playwright,
        opened(playwright, chromium()) as browser,
    ):
        page = browser.new_context(device_scale_factor=1.5, reduced_motion="reduce").new_page()
        scenes = Gallery(demo).scenes()
        if arguments.plain:
            demo.app.jinja_loader = _WithoutPaycheckout(demo.app.root_path + "/templates")
            demo.app.jinja_env.cache.clear()  # type: ignore[union-attr]
        if folder is None:
            _document(page, {scene.name: scene for scene in scenes})
        else:
            folder.mkdir(parents=True, exist_ok=True)
            for scene in scenes:
                if scene.name.startswith(names):
                    scene.show(page)
                    _take(page, scene, folder)


class _WithoutPaycheckout(FileSystemLoader):
    """The shop's templates without its replacements of the extension's pages."""

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:
        if template.startswith("paycheckout/"):
            raise TemplateNotFound(template)
        return super().get_source(environment, template)


def _take(page: Page, scene: Scene, folder: Path) -> None:
    themes: tuple[Theme, ...] = ("light", "dark")
    for width, theme in product(_SHOWN_WIDTHS, themes):
        turn(page, width, theme)
        name = scene.name.replace("/", "-")
        page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
    if scene.name.startswith(_PRINTED):
        turn(page, _PAPER, "light")
        page.emulate_media(media="print")
        page.screenshot(path=folder / f"{scene.name.replace('/', '-')}-print.png", full_page=True)
        page.emulate_media(media="screen")
    for fault in faults(page):
        print(f"{scene.name}: {fault}")


def _document(page: Page, scenes: dict[str, Scene]) -> None:
    # The page names the order only to a browser that has opened the order before.
    scenes["shop/order-paid"].show(page)
    is_owner = False
    for name, (scenes_shown, height) in _PICTURES.items():
        shots = []
        for scene, width in scenes_shown.items():
            page.set_viewport_size({"width": width, "height": height})
            if scene.startswith("owner/") and not is_owner:
                scenes["shop/owner"].show(page)
                is_owner = True
            scenes[scene].show(page)
            shots.append(_image(page.screenshot(), width, height))
        page.set_viewport_size(
            {"width": sum(scenes_shown.values()) + 24 * (len(scenes_shown) + 1), "height": height + 48}
        )
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
