"""Wallet addresses that each chain refuses."""

from __future__ import annotations

import pytest

from flask_paycheckout.sandbox.disbursements.addresses import check_address, sending_wallet
from flask_paycheckout.sandbox.wire.envelope import FieldError
from flask_paycheckout.sandbox.world.money import EVM, STELLAR

WALLET = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
# From SEP-23.
ACCOUNT = "GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ"
MUXED = "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUQ"


def test_addresses_of_accounts_are_taken() -> None:
    for chain, addresses in ((EVM, (WALLET, WALLET.lower())), (STELLAR, (ACCOUNT, MUXED))):
        for address in (*addresses, sending_wallet("user", chain)):
            check_address("to", address, chain)


@pytest.mark.parametrize("address", [WALLET[:-1], WALLET + "0", WALLET[2:], WALLET + "\n", "0x" + "g" * 40, ACCOUNT])
def test_an_invalid_evm_address_is_refused(address: str) -> None:
    with pytest.raises(FieldError, match=r"^to must be an EVM address"):
        check_address("to", address, EVM)


@pytest.mark.parametrize(
    "address",
    [
        *(ACCOUNT[:-1], ACCOUNT + "A", ACCOUNT.lower(), ACCOUNT.replace("Q", "B", 1), "\u00e9" * 56, WALLET),
        pytest.param("SBU2RRGLXH3E5CQHTD3ODLDF2BWDCYUSSBLLZ5GNW7JXHDIYKXZWHOKR", id="a-secret-seed"),
        pytest.param("CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE", id="a-contract"),
        pytest.param("MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUAAAAAAAAAAAACJUR", id="spare-bits"),
    ],
)
def test_an_invalid_stellar_account_is_refused(address: str) -> None:
    with pytest.raises(FieldError, match=r"^to must be the address of a Stellar account"):
        check_address("to", address, STELLAR)
