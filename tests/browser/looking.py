"""Checks a page in each width and theme: findings of axe-core, sideways scrolling, and invisible focus."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

#: The widths of the narrowest phone and of a desktop, in pixels.
WIDTHS = (320, 1280)
#: The widths of the narrowest tablet and of half a desktop: too wide for the layout with cards, and narrower than a
#: table with each number in one line.
BETWEEN = (769, 1000)
Theme = Literal["light", "dark"]

# The script axe-core from the npm registry, unchanged, with its licences in the same folder.
_AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
# Every rule that is on by default, including best practices, and the size of touch targets.
_RULES: dict[str, Any] = {"rules": {"target-size": {"enabled": True}}}
# The rules that another theme can break.
_RULES_OF_COLOUR: dict[str, Any] = {"runOnly": ["color-contrast", "link-in-text-block"]}
_RUN = """(rules) => axe.run(document, {
  resultTypes: ["violations"], preload: false, iframes: false, ...rules,
}).then((found) => found.violations.map((rule) => ({
  rule: rule.id, help: rule.help,
  at: rule.nodes.slice(0, 5).map((node) => node.target.join(" ") + ": " + node.html.slice(0, 160)),
})))"""
# Skips the transition of colours between themes, whose intermediate colours are no theme's.
_COME_TO_REST = """() => document.getAnimations().forEach((moving) => {
  try { moving.finish(); } catch { moving.cancel(); }
})"""
# Focusable elements without a visible focus ring. The browser's own ring is wide enough.
_UNSEEN = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((stop) => {
    stop.focus({focusVisible: true, preventScroll: true});
    const {outlineStyle, outlineWidth} = getComputedStyle(stop);
    const isSeen = outlineStyle === "auto" || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
    return document.activeElement === stop && !isSeen;
  }).map((stop) => stop.outerHTML.slice(0, 160))"""


def turn(page: Page, width: int, theme: Theme) -> None:
    """Show the open page in this width and theme."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    page.evaluate(_COME_TO_REST)


def violations(page: Page, rules: dict[str, Any] = _RULES) -> list[str]:
    """The faults of the page as it is shown now; a line for each rule, with the elements."""
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_AXE)
    results: list[dict[str, Any]] = page.evaluate(_RUN, rules)
    return [f"{each['rule']} ({each['help']}) at {'; '.join(each['at'])}" for each in results]


def overhang(page: Page) -> int:
    """The pixels by which the page is wider than its window; 0 if it does not scroll sideways."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def unseen_stops(page: Page) -> list[str]:
    """The focusable elements on which a keyboard user cannot see the focus."""
    stops: list[str] = page.evaluate(_UNSEEN)
    page.evaluate("document.activeElement.blur()")
    return stops


def faults(page: Page) -> list[str]:
    """All faults of the open page, in each width and theme."""
    wrong = []
    for width in WIDTHS:
        turn(page, width, "light")
        wrong += [f"{width} px: {violation}" for violation in violations(page)]
    # Right after midnight, all times of the test data are of yesterday, which is their widest form.
    page.evaluate("document.querySelectorAll('time').forEach((time) => { time.textContent = 'yesterday, 23:59'; })")
    for width in (*WIDTHS, *BETWEEN):
        turn(page, width, "light")
        if over := overhang(page):
            wrong.append(f"{width} px: scrolls sideways by {over} px")
    # The desktop page has everything from the phone page, in the same colours.
    turn(page, WIDTHS[-1], "dark")
    wrong += [f"dark: {violation}" for violation in violations(page, _RULES_OF_COLOUR)]
    return wrong + [f"no ring when a keyboard stops at {stop}" for stop in unseen_stops(page)]
