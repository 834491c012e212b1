"""Wallet addresses: the chains' own test vectors, and what each chain refuses."""

from __future__ import annotations

import pytest

from flask_paycheckout.sandbox.disbursements.addresses import checksummed, fault_of, is_payable
from flask_paycheckout.sandbox.world.money import EVM, STELLAR

# From EIP-55 itself.
EIP_55 = [
    "0x52908400098527886E0F7030069857D2E4169EE7",
    "0x8617E340B3D01FA5F11F306F4090FD50E238070D",
    "0xde709f2102306220921060314715629080e2fb77",
    "0x27b1fdb04752bbc536007a920d24acb045561c26",
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
    "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb",
]
# From SEP-23.
ACCOUNT = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
MUXED = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ"


@pytest.mark.parametrize("address", EIP_55)
def test_an_evm_address_keeps_its_checksum(address: str) -> None:
    for written in (address, address.lower(), "0x" + address[2:].upper()):
        assert fault_of(written, EVM) is None
    assert checksummed(address.lower()) == address
    if address in EIP_55[4:]:
        place = next(i for i, digit in enumerate(address) if i > 1 and digit.isalpha())
        broken = address[:place] + address[place].swapcase() + address[place + 1 :]
        assert "checksum" in str(fault_of(broken, EVM))


@pytest.mark.parametrize(
    "address", [EIP_55[4][:-1], EIP_55[4] + "0", EIP_55[4][2:], EIP_55[4] + "\n", "0x" + "g" * 40, ""]
)
def test_what_is_no_evm_address_is_refused(address: str) -> None:
    assert "no EVM address" in str(fault_of(address, EVM))


def test_a_stellar_address_with_one_wrong_letter_is_refused() -> None:
    assert fault_of(ACCOUNT, STELLAR) is fault_of(MUXED, STELLAR) is None
    for place, letter in enumerate(ACCOUNT):
        other = "B" if letter != "B" else "C"
        assert not is_payable(ACCOUNT[:place] + other + ACCOUNT[place + 1 :]), place


@pytest.mark.parametrize(
    "address",
    [
        *(ACCOUNT[:-1], ACCOUNT + "A", ACCOUNT.lower(), "\u00e9" * 56, "", EIP_55[0]),
        pytest.param("SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKR", id="a-secret-seed"),
        pytest.param("CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE", id="a-contract"),
        pytest.param("MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUR", id="spare-bits"),
    ],
)
def test_what_is_no_stellar_account_is_refused(address: str) -> None:
    assert "no Stellar account address" in str(fault_of(address, STELLAR))
