"""Every page in every state, on phone and desktop, light and dark: no axe-core fault, no sideways scrolling."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask, request, request_finished
from playwright.sync_api import Page, expect

from example_shop.serving import Demo
from tests.browser.gallery import Gallery, pages_of
from tests.browser.looking import faults


@pytest.fixture
def visited() -> Iterator[dict[str, set[str]]]:
    """The requested endpoints, by the app's name."""
    endpoints: dict[str, set[str]] = {}

    def note(app: Flask, **_: Any) -> None:
        endpoints.setdefault(app.name, set()).add(request.endpoint or "")

    with request_finished.connected_to(note):
        yield endpoints


def test_no_page_has_a_fault(demo: Demo, new_page: Callable[..., Page], visited: dict[str, set[str]]) -> None:
    gallery = Gallery(demo)
    visited.clear()
    page = new_page(reduced_motion="reduce")
    faults_by_scene = {}
    for scene in gallery.scenes():
        scene.show(page)
        expect(page.locator(scene.holds), scene.name).to_have_count(1)
        if wrong := faults(page):
            faults_by_scene[scene.name] = wrong
    assert faults_by_scene == {}
    for app in (demo.app, demo.sandbox, demo.warehouse):
        assert pages_of(app) - visited[app.name] == set(), f"pages of {app.name} that the gallery does not show"
