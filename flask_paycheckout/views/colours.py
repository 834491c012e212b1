"""The shop's accent colour, made darker or lighter until it can be read, as WCAG 2 measures it. Pure."""

from __future__ import annotations

from functools import cache

# The grounds on which `static/paycheckout.css` writes in the accent, in light and dark, and the colours away from them.
_GROUNDS = {"#f3f5f8": 0, "#1a222c": 255}
_LEAST_CONTRAST = 4.5
_STEPS = 20


@cache
def readable_accents(accent: str) -> tuple[str, ...]:
    """The nearest colours to an accent such as "#8a2b0b" that can be read on a light page, and on a dark one.

    On a button of the accent white can be read in light, and the dark page's ground in dark.
    """
    return tuple(_readable(_channels(accent), ground, away) for ground, away in _GROUNDS.items())


def _readable(accent: tuple[int, ...], ground: str, away: int) -> str:
    for step in range(_STEPS + 1):
        mixed = tuple(round(one + (away - one) * step / _STEPS) for one in accent)
        if contrast(mixed, _channels(ground)) >= _LEAST_CONTRAST:
            break
    return "#" + "".join(f"{one:02x}" for one in mixed)


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The contrast ratio of two colours by their red, green and blue, from 1 to 21."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(channels: tuple[int, ...]) -> float:
    shares = (one / 255 for one in channels)
    linear = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
