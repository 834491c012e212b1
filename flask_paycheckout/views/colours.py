"""The shop's accent colour, made darker or lighter until its contrast is sufficient by WCAG 2."""

from __future__ import annotations

from functools import cache

# The backgrounds of accent text in `static/paycheckout.css`, light and dark, and the channel value to move towards.
_GROUNDS = {"#f3f5f8": 0, "#1a222c": 255}
_LEAST_CONTRAST = 4.5
_STEPS = 20


@cache
def readable_accents(accent: str) -> tuple[str, ...]:
    """The colours nearest to an accent such as "#8a2b0b" that can be read on a light page, and on a dark one.

    A button in the first colour can have white text, and a button in the second the dark page's background colour.
    """
    return tuple(_readable(_channels(accent), ground, away) for ground, away in _GROUNDS.items())


def _readable(accent: tuple[int, ...], ground: str, away: int) -> str:
    for step in range(_STEPS + 1):
        mixed = tuple(round(channel + (away - channel) * step / _STEPS) for channel in accent)
        if contrast(mixed, _channels(ground)) >= _LEAST_CONTRAST:
            break
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


def contrast(first: tuple[int, ...], second: tuple[int, ...]) -> float:
    """The contrast ratio of two colours by their red, green and blue, from 1 to 21."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(channels: tuple[int, ...]) -> float:
    shares = (channel / 255 for channel in channels)
    linear = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))
