"""Pictures of every page in every state, width and theme, for people to look at.

    python -m tests.browser.screenshots FOLDER [WORD]

writes `FOLDER/<page>-<width>-<theme>.png`, of the pages whose names hold WORD when one is given, and says which of them
have a fault.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from example_shop.serving import Demo
from tests.browser.chromium import opened
from tests.browser.gallery import Gallery, Scene
from tests.browser.looking import faults, turned
from tests.optional_parts import chromium


def take(page: Page, scene: Scene, folder: Path) -> None:
    """The pictures of one page that is open, as long as the page is."""
    name = scene.name.replace("/", "-")
    for width, theme in turned(page):
        page.screenshot(path=folder / f"{name}-{width}-{theme}.png", full_page=True)
    for fault in faults(page):
        print(f"{scene.name}: {fault}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Take pictures of every page.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("word", nargs="?", default="", help="only of pages whose name holds this")
    wanted = parser.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    with Demo(reconciler=False) as demo, sync_playwright() as playwright, opened(playwright, chromium()) as browser:
        page = browser.new_context(reduced_motion="reduce").new_page()
        for scene in Gallery(demo).scenes():
            # Shown even if no picture is wanted: the owner's pages need the login of an earlier one.
            scene.show(page)
            if wanted.word in scene.name:
                take(page, scene, wanted.folder)
    print(f"The pictures are in {wanted.folder}.")


if __name__ == "__main__":
    main()
