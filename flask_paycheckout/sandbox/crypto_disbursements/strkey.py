"""Stellar's addresses: a version byte, a payload and a CRC-16, in base32 without padding."""

from __future__ import annotations

import base64
import binascii

#: An account, and an account with a number of its owner's own attached to it: the two that can be paid.
ACCOUNT = 6 << 3
MUXED_ACCOUNT = 12 << 3
_PAYLOAD_BYTES = {ACCOUNT: 32, MUXED_ACCOUNT: 40}


def encode(version: int, payload: bytes) -> str:
    """The address of a payload."""
    content = bytes([version]) + payload
    return base64.b32encode(content + _checksum(content)).decode().rstrip("=")


def is_payable(address: str) -> bool:
    """Whether it is the address of an account, checksum included."""
    try:
        content = base64.b32decode(address + "=" * (-len(address) % 8))
    except (binascii.Error, ValueError):
        return False
    version, payload = content[0] if content else 0, content[1:-2]
    # Written again and compared, because base32 has spare bits that must be zero.
    return _PAYLOAD_BYTES.get(version) == len(payload) and encode(version, payload) == address


def _checksum(content: bytes) -> bytes:
    return binascii.crc_hqx(content, 0).to_bytes(2, "little")
