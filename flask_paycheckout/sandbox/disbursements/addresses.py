"""Wallet addresses: their validation, and those of the service itself."""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from hashlib import blake2b

from flask_paycheckout.sandbox.wire.envelope import FieldError
from flask_paycheckout.sandbox.world.context import assumption
from flask_paycheckout.sandbox.world.money import EVM

MAX_ADDRESS = 100
"""Longer than the addresses of every supported chain."""
ACCOUNT = 6 << 3
"""Version bytes of the two that can be paid: an account, and an account with a sub-account number of its owner."""
MUXED_ACCOUNT = 12 << 3
_PAYLOAD_BYTES = {ACCOUNT: 32, MUXED_ACCOUNT: 40}


def _encode(version: int, payload: bytes) -> str:
    """Encode a payload as an address."""
    content = bytes([version]) + payload
    checksum = binascii.crc_hqx(content, 0).to_bytes(2, "little")
    return base64.b32encode(content + checksum).decode().rstrip("=")


def is_payable(address: str, *, checked: bool = True) -> bool:
    """Whether it is the address of an account.

    :param checked: whether its checksum must be right.
    """
    try:
        content = base64.b32decode(address + "=" * (-len(address) % 8))
    except (binascii.Error, ValueError):
        return False
    version, payload = content[0] if content else 0, content[1:-2]
    # Encoded again and compared, because base32 has spare bits, which must be zero.
    is_right = not checked or _encode(version, payload) == address
    return _PAYLOAD_BYTES.get(version) == len(payload) and is_right


_RATE, _ROUNDS, _MASK = 136, 24, (1 << 64) - 1


def keccak256(message: bytes) -> bytes:
    """The 32-byte digest of a message of less than 136 bytes, which is one block."""
    block = message + b"\x01" + bytes(_RATE - 1 - len(message))
    block = block[:-1] + bytes([block[-1] | 0x80])
    lanes = [int.from_bytes(block[start : start + 8], "little") for start in range(0, _RATE, 8)]
    state = _permuted(lanes + [0] * (25 - len(lanes)))
    return b"".join(lane.to_bytes(8, "little") for lane in state[:4])


def _permuted(a: list[int]) -> list[int]:
    """The permutation Keccak-f[1600]; its steps are named as in FIPS 202."""
    register = 1
    for _ in range(_ROUNDS):
        # theta
        columns = [a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] for x in range(5)]
        mixed = [columns[x - 1] ^ _turned(columns[(x + 1) % 5], 1) for x in range(5)]
        a = [lane ^ mixed[place % 5] for place, lane in enumerate(a)]
        # rho and pi
        x, y, carried = 1, 0, a[1]
        for step in range(1, 25):
            x, y = y, (2 * x + 3 * y) % 5
            a[x + 5 * y], carried = _turned(carried, step * (step + 1) // 2 % 64), a[x + 5 * y]
        # chi
        rows = [a[start : start + 5] for start in range(0, 25, 5)]
        a = [row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5]) for row in rows for x in range(5)]
        # iota
        for power in range(7):
            a[0] ^= (register & 1) << ((1 << power) - 1)
            register = (register << 1) ^ (0x171 * (register >> 7))
    return a


def _turned(lane: int, bits: int) -> int:
    return (lane << bits | lane >> (64 - bits)) & _MASK


_EVM_FORM = re.compile(r"0x[0-9a-fA-F]{40}")


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
        fault = "is no Stellar account address (G... or M..., with its checksum)"
        return None if is_payable(address, checked=checked) else fault
    if not _EVM_FORM.fullmatch(address):
        return "is no EVM address (0x and 40 hexadecimal digits)"
    # Digits of one case carry no checksum.
    is_mixed = address[2:] not in {address[2:].lower(), address[2:].upper()}
    if checked and is_mixed and checksummed(address) != address:
        return "has a wrong EIP-55 checksum; copy it again, or send it in lower case to do without"
    return None


@lru_cache(maxsize=1024)
def checksummed(address: str) -> str:
    """An EVM address with its EIP-55 checksum, which is the case of its letters."""
    digits = address[2:].lower()
    digest = keccak256(digits.encode()).hex()
    return "0x" + "".join(d.upper() if int(nibble, 16) > 7 else d for d, nibble in zip(digits, digest, strict=False))


def sending_wallet(user_id: str, blockchain_type: str) -> str:
    """The wallet from which the service pays an account's disbursements; it is derived, so nobody has its key."""
    is_evm = blockchain_type == EVM
    digest = blake2b(f"wallet:{user_id}".encode(), digest_size=20 if is_evm else 32).digest()
    return checksummed(f"0x{digest.hex()}") if is_evm else _encode(ACCOUNT, digest)
