"""Looks at a page in each width and theme: what axe-core finds wrong, what scrolls sideways, where focus is unseen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

#: Pixels: the narrowest phone and a desk.
WIDTHS = (320, 1280)
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

# Of the npm registry's axe-core, unchanged; its licences lie beside it.
_AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
# Every rule that is on by itself, those for good practice included, and the size of what a finger must hit.
_RULES: dict[str, Any] = {"rules": {"target-size": {"enabled": True}}}
# Those that another theme can break.
_RULES_OF_COLOUR: dict[str, Any] = {"runOnly": ["color-contrast", "link-in-text-block"]}
_RUN = """(rules) => axe.run(document, {
  resultTypes: ["violations"], preload: false, iframes: false, ...rules,
}).then((found) => found.violations.map((rule) => ({
  rule: rule.id, help: rule.help,
  at: rule.nodes.slice(0, 5).map((node) => node.target.join(" ") + ": " + node.html.slice(0, 160)),
})))"""
# Colours on their way from one theme to the other are nobody's colours.
_COME_TO_REST = """() => document.getAnimations().forEach((moving) => {
  try { moving.finish(); } catch { moving.cancel(); }
})"""
# What a keyboard stops at without a ring around it. One that is drawn by the browser itself is wide enough.
_UNSEEN = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((stop) => {
    stop.focus({focusVisible: true, preventScroll: true});
    const {outlineStyle, outlineWidth} = getComputedStyle(stop);
    const isSeen = outlineStyle === "auto" || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
    return document.activeElement === stop && !isSeen;
  }).map((stop) => stop.outerHTML.slice(0, 160))"""


def turned(page: Page) -> Iterator[tuple[int, Theme]]:
    """Shows the page that is open in every width and theme, one after the other."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            page.evaluate(_COME_TO_REST)
            yield width, theme


def violations(page: Page, rules: dict[str, Any] = _RULES) -> list[str]:
    """What is wrong with the page as it is shown now; a line for each rule, with where."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_AXE)
    found: list[dict[str, Any]] = page.evaluate(_RUN, rules)
    return [f"{each['rule']} ({each['help']}) at {'; '.join(each['at'])}" for each in found]


def overhang(page: Page) -> int:
    """By how many pixels the page is wider than its window; 0 where it does not scroll sideways."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def unseen_stops(page: Page) -> list[str]:
    """Where somebody who goes by keyboard does not see that they are."""
    found: list[str] = page.evaluate(_UNSEEN)
    page.evaluate("document.activeElement.blur()")
    return found


def faults(page: Page) -> list[str]:
    """Everything that is wrong with the page that is open, in whatever width and theme."""
    found = []
    for width, theme in turned(page):
        wrong = violations(page, _RULES if theme == THEMES[0] else _RULES_OF_COLOUR)
        found += [f"{width} px, {theme}: {violation}" for violation in wrong]
        if over := overhang(page):
            found.append(f"{width} px, {theme}: scrolls sideways by {over} px")
    return found + [f"no ring when a keyboard stops at {stop}" for stop in unseen_stops(page)]
