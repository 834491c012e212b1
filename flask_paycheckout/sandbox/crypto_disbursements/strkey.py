"""Stellar addresses: a version byte, a payload and a CRC-16, in base32 without padding."""

from __future__ import annotations

import base64
import binascii

ACCOUNT = 6 << 3
"""Version bytes of the two that can be paid: an account, and an account with a sub-account number of its owner."""
MUXED_ACCOUNT = 12 << 3
_PAYLOAD_BYTES = {ACCOUNT: 32, MUXED_ACCOUNT: 40}


def encode(version: int, payload: bytes) -> str:
    """Encode a payload as an address."""
    content = bytes([version]) + payload
    return base64.b32encode(content + _checksum(content)).decode().rstrip("=")


def is_payable(address: str) -> bool:
    """Whether it is the address of an account, checksum included."""
    try:
        content = base64.b32decode(address + "=" * (-len(address) % 8))
    except (binascii.Error, ValueError):
        return False
    version, payload = content[0] if content else 0, content[1:-2]
    # Encoded again and compared, because base32 has spare bits, which must be zero.
    return _PAYLOAD_BYTES.get(version) == len(payload) and encode(version, payload) == address


def looks_payable(address: str) -> bool:
    """Whether it has the form of such an address; its checksum may be wrong."""
    try:
        content = base64.b32decode(address + "=" * (-len(address) % 8))
    except (binascii.Error, ValueError):
        return False
    return bool(content) and _PAYLOAD_BYTES.get(content[0]) == len(content) - 3


def _checksum(content: bytes) -> bytes:
    return binascii.crc_hqx(content, 0).to_bytes(2, "little")
