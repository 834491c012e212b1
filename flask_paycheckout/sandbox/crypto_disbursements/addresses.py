"""Wallet addresses: their validation, and those of the service itself."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from flask_paycheckout.sandbox.crypto_disbursements import strkey
from flask_paycheckout.sandbox.crypto_disbursements.keccak import keccak256
from flask_paycheckout.sandbox.money.tokens import EVM
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.context import assumption

_EVM_FORM = re.compile(r"0x[0-9a-fA-F]{40}")
_EVM_BYTES = 20
_STELLAR_BYTES = 32


def check_address(field: str, address: str, blockchain_type: str) -> None:
    """Refuse an address that cannot be paid. :raises FieldError: naming the field."""
    fault = fault_of(address, blockchain_type, checked=assumption("address_checksum") == "checked")
    if fault is not None:
        raise FieldError(f"{field} {fault}.")


def fault_of(address: str, blockchain_type: str, *, checked: bool = True) -> str | None:
    """Why an address cannot be paid, worded to follow a field's name; None when it can.

    :param checked: whether its checksum must be right.
    """
    if blockchain_type != EVM:
        payable = strkey.is_payable(address) if checked else strkey.looks_payable(address)
        return None if payable else "is no Stellar account address (G... or M..., with its checksum)"
    if not _EVM_FORM.fullmatch(address):
        return "is no EVM address (0x and 40 hexadecimal digits)"
    if checked and _carries_checksum(address) and checksummed(address) != address:
        return "has a wrong EIP-55 checksum; copy it again, or send it in lower case to do without"
    return None


@lru_cache(maxsize=1024)
def checksummed(address: str) -> str:
    """An EVM address with its EIP-55 checksum, which is the case of its letters."""
    digits = address[2:].lower()
    digest = keccak256(digits.encode()).hex()
    return "0x" + "".join(d.upper() if int(nibble, 16) > 7 else d for d, nibble in zip(digits, digest, strict=False))


def _carries_checksum(address: str) -> bool:
    digits = address[2:]
    return digits not in {digits.lower(), digits.upper()}


def sending_wallet(user_id: str, blockchain_type: str) -> str:
    """The wallet from which the service pays an account's disbursements; it is derived, so nobody has its key."""
    size = _EVM_BYTES if blockchain_type == EVM else _STELLAR_BYTES
    digest = blake2b(f"wallet:{user_id}".encode(), digest_size=size).digest()
    return checksummed(f"0x{digest.hex()}") if blockchain_type == EVM else strkey.encode(strkey.ACCOUNT, digest)
