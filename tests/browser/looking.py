"""Looks at a page in each width and theme: what axe-core finds wrong, what scrolls sideways, where focus is unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Page

#: Pixels: the narrowest phone and a desk.
WIDTHS = (320, 1280)
#: The narrowest tablet's, and half a desk's: wider than what becomes cards, narrower than a table with numbers in one
#: line.
BETWEEN = (769, 1000)
Theme = Literal["light", "dark"]

# The script axe-core of the npm registry, unchanged; its licences lie beside it.
_AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
# Every rule that is on by itself, those for good practice included, and the size of what a finger must hit.
_RULES: dict[str, Any] = {"rules": {"target-size": {"enabled": True}}}
# The rules that another theme can break.
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
# Elements that a keyboard stops at without a ring around them. A ring that the browser draws is wide enough.
_UNSEEN = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
  .filter((stop) => {
    stop.focus({focusVisible: true, preventScroll: true});
    const {outlineStyle, outlineWidth} = getComputedStyle(stop);
    const isSeen = outlineStyle === "auto" || (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2);
    return document.activeElement === stop && !isSeen;
  }).map((stop) => stop.outerHTML.slice(0, 160))"""


def turn(page: Page, width: int, theme: Theme) -> None:
    """Show the page that is open in this width and theme."""
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=theme)
    page.evaluate(_COME_TO_REST)


def violations(page: Page, rules: dict[str, Any] = _RULES) -> list[str]:
    """The faults of the page as it is shown now; a line for each rule, with where."""
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
    """Everything that is wrong with the page that is open, in each width and theme."""
    found = []
    for width in WIDTHS:
        turn(page, width, "light")
        found += [f"{width} px: {violation}" for violation in violations(page)]
    # Right after midnight, all that the tests made is of yesterday.
    page.evaluate("document.querySelectorAll('time').forEach((time) => { time.textContent = 'yesterday, 23:59'; })")
    for width in (*WIDTHS, *BETWEEN):
        turn(page, width, "light")
        if over := overhang(page):
            found.append(f"{width} px: scrolls sideways by {over} px")
    # A desk shows all that a phone does, in the same colours.
    turn(page, WIDTHS[-1], "dark")
    found += [f"dark: {violation}" for violation in violations(page, _RULES_OF_COLOUR)]
    return found + [f"no ring when a keyboard stops at {stop}" for stop in unseen_stops(page)]
