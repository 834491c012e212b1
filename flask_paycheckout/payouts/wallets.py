"""Addresses of wallets: their form by the network of a token, and the checksum that they contain.

Addresses of a network that is not listed are checked by the service alone.
"""

from __future__ import annotations

import base64
import binascii
import re

_EVM = re.compile(r"0x[0-9a-fA-F]{40}")
_STELLAR = re.compile(r"[GM][A-Z2-7]{55,68}")
_EVM_NETWORKS = frozenset({"ethereum", "polygon", "bsc", "arbitrum", "optimism", "base", "avalanche", "celo"})

_COPY = "Copy it again from the wallet"


def require_address(address: str, token: str) -> None:
    """Refuse an address that does not belong to the token's network, or whose checksum is wrong.

    :raises ValueError: gives the address, the fault and the remedy.
    """
    form, described = _form(token)
    if form is None:
        return
    subject = f"address {address[:80]!r}"
    if not form.fullmatch(address):
        raise ValueError(f"{subject} is no wallet of {token}: it {described} there. {_COPY}")
    if shows_errors(address, token) and not _is_right(address):
        raise ValueError(f"{subject} has a wrong character: its check does not fit. {_COPY}")


def shows_errors(address: str, token: str) -> bool:
    """Whether an address contains a checksum; an EVM address whose letters have one case does not."""
    form, _ = _form(token)
    if form is _EVM:
        # EIP-55: the case of the letters is a checksum of the digits.
        return address[2:] not in (address[2:].lower(), address[2:].upper())
    return form is _STELLAR


def _form(token: str) -> tuple[re.Pattern[str] | None, str]:
    network = token.partition("-")[2].lower()
    if network.split("-")[0] in _EVM_NETWORKS:
        return _EVM, "has 0x and 40 hexadecimal digits"
    if network.startswith("stellar"):
        return _STELLAR, "begins with G or M and has 56 or 69 capital letters and digits"
    return None, ""


def _is_right(address: str) -> bool:
    if _EVM.fullmatch(address):
        digest = keccak_256(address[2:].lower().encode()).hex()
        pairs = zip(address[2:], digest, strict=False)
        return all(char == (char.upper() if digit > "7" else char.lower()) for char, digit in pairs)
    try:
        content = base64.b32decode(address + "=" * (-len(address) % 8))
    except binascii.Error:
        return False
    return binascii.crc_hqx(content[:-2], 0).to_bytes(2, "little") == content[-2:]


# Keccak-256, which gives the case of the letters in an EVM wallet's address. `hashlib` has SHA3-256 only, whose padding
# differs, and packages that have both weigh ten megabytes.

_WORD = (1 << 64) - 1
# The number of bytes per block, and of 64-bit words in the digest.
_RATE, _DIGEST = 136, 4
_ROUNDS = 24


def keccak_256(message: bytes, padding: int = 0x01) -> bytes:
    """The digest of a message.

    :param padding: the first byte after the message: 0x01 for Keccak-256, 0x06 for SHA3-256.
    """
    filled = bytearray(message + bytes([padding]))
    filled += bytes(-len(filled) % _RATE)
    filled[-1] |= 0x80
    state = [0] * 25
    for start in range(0, len(filled), _RATE):
        for place in range(_RATE // 8):
            state[place] ^= int.from_bytes(filled[start + 8 * place : start + 8 * place + 8], "little")
        state = _permute(state)
    return b"".join(word.to_bytes(8, "little") for word in state[:_DIGEST])


def _permute(state: list[int]) -> list[int]:
    """Keccak-f[1600]; the word at x, y of FIPS 202 has the index x + 5 * y."""
    lfsr = 1
    for _ in range(_ROUNDS):
        parity = [state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20] for x in range(5)]
        mixed = [word ^ parity[(at + 4) % 5] ^ _rotate(parity[(at + 1) % 5], 1) for at, word in enumerate(state)]
        moved, at, turn = mixed[:], 1, 0
        for step in range(1, 25):
            turn += step
            x, y = at % 5, at // 5
            to = y + 5 * ((2 * x + 3 * y) % 5)
            moved[to], at = _rotate(mixed[at], turn % 64), to
        state = [
            word ^ (~moved[at - at % 5 + (at + 1) % 5] & moved[at - at % 5 + (at + 2) % 5])
            for at, word in enumerate(moved)
        ]
        for power in range(7):
            state[0] ^= (lfsr & 1) << ((1 << power) - 1)
            lfsr = (lfsr << 1) ^ (0x171 if lfsr & 0x80 else 0)
    return state


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _WORD
