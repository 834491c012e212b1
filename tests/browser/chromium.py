"""The system's Chromium, one at a time in a process, because two drivers in one process disturb each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.optional_parts import chromium

# Milliseconds that a loaded machine may take; waits end as soon as their condition holds.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


@contextmanager
def opened(playwright: Playwright, path: Path) -> Iterator[Browser]:
    """Run the Chromium at this path, without network connections of its own."""
    browser = playwright.chromium.launch(
        executable_path=path,
        args=[
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-background-networking",
            # Host names that a browser does not treat as this machine.
            "--host-resolver-rules=MAP *.test 127.0.0.1",
        ],
    )
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for a module's tests only, because its driver's event loop occupies the thread."""
    path = chromium()
    with sync_playwright() as playwright, opened(playwright, path) as browser:
        yield browser


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Makes pages of separate browsers, each of which stands for another device."""
    with ExitStack() as contexts:

        def make(**options: Any) -> Page:
            context = browser.new_context(**options)
            contexts.callback(context.close)
            context.set_default_timeout(PATIENCE)
            return context.new_page()

        yield make


def heading(page: Page, words: str) -> None:
    """Wait until the page has this heading."""
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()
