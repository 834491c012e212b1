"""Wallet addresses: their validation, and the service's own addresses."""

from __future__ import annotations

import base64
import binascii
import re
from hashlib import blake2b
from typing import Annotated

from flask_paycheckout.sandbox.wire.envelope import Unusable
from flask_paycheckout.sandbox.wire.field_types import matching
from flask_paycheckout.sandbox.world.money import EVM

_EVM_FORM = "0x[0-9a-fA-F]{40}"
WalletAddress = Annotated[
    str, matching(f"({_EVM_FORM}|[GM][A-Z2-7]{{55,68}})", "the address of an EVM or Stellar wallet", 69)
]
# Version bytes of the two kinds of address that can be paid, with their payload's length: an account, and an account
# with a sub-account number of its owner.
_ACCOUNT = 6 << 3
_PAYLOAD_BYTES = {_ACCOUNT: 32, 12 << 3: 40}


def _encode(version: int, payload: bytes) -> str:
    """Encode a payload as a Stellar address."""
    content = bytes([version]) + payload
    checksum = binascii.crc_hqx(content, 0).to_bytes(2, "little")
    return base64.b32encode(content + checksum).decode().rstrip("=")


def check_address(field: str, address: str, blockchain_type: str) -> None:
    """Refuse an address that cannot be paid. :raises Unusable: naming the field."""
    if blockchain_type == EVM and not re.fullmatch(_EVM_FORM, address):
        raise Unusable(f"{field} must be an EVM address: 0x and 40 hexadecimal digits.")
    if blockchain_type != EVM and not _is_stellar_account(address):
        raise Unusable(f"{field} must be the address of a Stellar account: G... or M..., with its checksum.")


def _is_stellar_account(address: str) -> bool:
    try:
        content = base64.b32decode(address + "=" * (-len(address) % 8))
    except (binascii.Error, ValueError):
        return False
    version, payload = content[0] if content else 0, content[1:-2]
    # Encoded again and compared, because base32 has spare bits, which must be zero.
    return _PAYLOAD_BYTES.get(version) == len(payload) and _encode(version, payload) == address


def sending_wallet(user_id: str, blockchain_type: str) -> str:
    """The wallet from which the service pays an account's disbursements; it is derived, so nobody has its key."""
    is_evm = blockchain_type == EVM
    digest = blake2b(f"wallet:{user_id}".encode(), digest_size=20 if is_evm else 32).digest()
    return f"0x{digest.hex()}" if is_evm else _encode(_ACCOUNT, digest)
