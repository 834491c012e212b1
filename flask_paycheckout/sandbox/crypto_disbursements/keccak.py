"""Keccak-256 as Ethereum uses it. It differs from the standard library's SHA3-256 by its padding."""

from __future__ import annotations

_RATE = 136
_LANES = 25
_MASK = (1 << 64) - 1
_ROUNDS = 24


def keccak256(message: bytes) -> bytes:
    """The 32-byte digest of a message."""
    padded = bytearray(message + b"\x01" + bytes(-(len(message) + 1) % _RATE))
    padded[-1] |= 0x80
    state = [0] * _LANES
    for start in range(0, len(padded), _RATE):
        for lane in range(_RATE // 8):
            state[lane] ^= int.from_bytes(padded[start + 8 * lane : start + 8 * lane + 8], "little")
        state = _permuted(state)
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


def _round_constants() -> tuple[int, ...]:
    """The round constants, from the linear feedback shift register that defines them."""
    constants, register = [], 1
    for _ in range(_ROUNDS):
        constant = 0
        for power in range(7):
            constant |= (register & 1) << ((1 << power) - 1)
            register = (register << 1) ^ (0x171 * (register >> 7))
        constants.append(constant)
    return tuple(constants)


def _moves() -> tuple[tuple[int, int], ...]:
    """The target and the rotation of each lane in the combined steps rho and pi, in the order of their cycle."""
    moves, x, y = [], 1, 0
    for step in range(_LANES - 1):
        x, y = y, (2 * x + 3 * y) % 5
        moves.append((x + 5 * y, (step + 1) * (step + 2) // 2 % 64))
    return tuple(moves)


_CONSTANTS = _round_constants()
_MOVES = _moves()


def _turned(lane: int, bits: int) -> int:
    return (lane << bits | lane >> (64 - bits)) & _MASK


def _permuted(a: list[int]) -> list[int]:
    for constant in _CONSTANTS:
        columns = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        mixed = [columns[x - 1] ^ _turned(columns[(x + 1) % 5], 1) for x in range(5)]
        a = [lane ^ mixed[place % 5] for place, lane in enumerate(a)]
        carried = a[1]
        for place, bits in _MOVES:
            a[place], carried = _turned(carried, bits), a[place]
        a = [
            a[place] ^ (~a[place - place % 5 + (place + 1) % 5] & a[place - place % 5 + (place + 2) % 5])
            for place in range(_LANES)
        ]
        a[0] ^= constant
    return a
