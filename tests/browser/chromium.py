"""The system's Chromium, one at a time in a process: two of its drivers in one do not get on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.optional_parts import chromium

# Milliseconds that a loaded machine may take; what holds earlier is seen earlier.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


@contextmanager
def opened(playwright: Playwright, path: Path) -> Iterator[Browser]:
    """The Chromium of this path, which talks to nobody by itself."""
    browser = playwright.chromium.launch(
        executable_path=path,
        args=[
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-background-networking",
            # Names for hosts that a browser does not take for this machine.
            "--host-resolver-rules=MAP *.test 127.0.0.1",
        ],
    )
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for a module's tests: its driver's event loop is in the thread where others may run their own."""
    path = chromium()
    with sync_playwright() as playwright, opened(playwright, path) as browser:
        yield browser


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Makes pages of browsers that know nothing of each other: another device each."""
    with ExitStack() as contexts:

        def make(**options: Any) -> Page:
            context = browser.new_context(**options)
            contexts.callback(context.close)
            context.set_default_timeout(PATIENCE)
            return context.new_page()

        yield make


def heading(page: Page, words: str) -> None:
    """Wait until this is what the page is about."""
    expect(page.get_by_role("heading", level=1)).to_have_text(words)


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    return new_page()
