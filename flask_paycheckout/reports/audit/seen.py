"""A set of row ids that takes one bit for each."""

from __future__ import annotations

__all__ = ["Seen"]

_BLOCK = 8192


class Seen:
    """Row ids, in blocks, so that 1,000,000 neighbouring ones take 125 kB."""

    def __init__(self) -> None:
        self._blocks: dict[int, bytearray] = {}

    def add(self, number: int) -> None:
        """Add a row's id."""
        block, place = divmod(number, _BLOCK)
        bits = self._blocks.setdefault(block, bytearray(_BLOCK // 8))
        bits[place // 8] |= 1 << place % 8

    def __contains__(self, number: int) -> bool:
        block, place = divmod(number, _BLOCK)
        bits = self._blocks.get(block)
        return bits is not None and bool(bits[place // 8] >> place % 8 & 1)
