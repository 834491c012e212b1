"""Every page in every state, on phone and desk, light and dark: axe-core finds nothing, nothing scrolls sideways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, request, request_finished
from playwright.sync_api import Page

from example_shop.serving import Demo
from tests.browser.gallery import Gallery, Scene, pages_of
from tests.browser.looking import THEMES, WIDTHS, faults
from tests.browser.screenshots import take


@pytest.fixture
def visited() -> Iterator[dict[str, set[str]]]:
    """The endpoints that were asked for, by the app's name."""
    found: dict[str, set[str]] = {}

    def note(app: Flask, **_: Any) -> None:
        found.setdefault(app.name, set()).add(request.endpoint or "")

    with request_finished.connected_to(note):
        yield found


def test_no_page_has_a_fault(
    make_demo: Callable[..., Demo], new_page: Callable[..., Page], visited: dict[str, set[str]]
) -> None:
    demo = make_demo(reconciler=False)
    gallery = Gallery(demo)
    visited.clear()
    page = new_page(reduced_motion="reduce")
    found = {}
    for scene in gallery.scenes():
        scene.show(page)
        assert page.locator(scene.holds).count() == 1, scene.name
        if wrong := faults(page):
            found[scene.name] = wrong
    assert found == {}
    for app in (demo.app, demo.sandbox, demo.warehouse):
        assert pages_of(app) - visited[app.name] == set(), f"pages of {app.name} that the gallery does not show"


BARE = "<!doctype html><html lang='en'><head><title>t</title></head><body><main><h1>t</h1>{}</main></body></html>"
PLANTED = {
    "no-label": ("<input name='amount'>", "label"),
    "faint": ("<p style='color: #999; background: #fff'>Pale</p>", "color-contrast"),
    "faint-in-the-dark": (
        "<style>@media (prefers-color-scheme: dark) { p { color: #444; background: #222 } }</style><p>Dim</p>",
        "dark: color-contrast",
    ),
    "broad": ("<div style='width: 400px'>.</div>", "360 px, light: scrolls sideways by"),
    "no-ring": ("<p><a href='/a' style='outline: none'>Somewhere</a></p>", "no ring when a keyboard stops at <a href"),
    "too-small-to-hit": ("<a href='/a' style='display: inline-block; width: 9px'>a</a>" * 2, "target-size"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(page: Page, name: str) -> None:
    body, rule = PLANTED[name]
    page.set_content(BARE.format(body))
    found = faults(page)
    assert rule in "\n".join(found)
    page.set_content(BARE.format(""))
    assert faults(page) == []


def test_a_picture_is_taken_of_each_width_and_theme(page: Page, tmp_path: Path) -> None:
    take(page, Scene("some/page", lambda page: page.set_content(BARE.format(""))), tmp_path)
    sizes = {path.name: int.from_bytes(path.read_bytes()[16:20]) for path in tmp_path.iterdir()}
    assert sizes == {f"some-page-{width}-{theme}.png": width for width in WIDTHS for theme in THEMES}
