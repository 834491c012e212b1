"""Wallet addresses: a wrong character is found by the checksum; an address without a checksum is marked."""

from __future__ import annotations

import hashlib

import pytest

from flask_paycheckout import ToWallet
from flask_paycheckout.payouts.destinations import hides_errors, require_destination
from flask_paycheckout.payouts.wallets import keccak_256

#: From EIP-55, and from Stellar's SEP-23.
CHECKED = {
    "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed": "usdc-polygon",
    "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359": "usdc-base",
    "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB": "usdt-bsc",
    "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN": "usdc-stellar",
    "MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVAAAAAAAAAAAAAJLK": "usdc-stellar",
}
UNCHECKED = {
    "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed": "usdc-polygon",
    "0x52908400098527886E0F7030069857D2E4169EE7": "usdc-polygon",
    "TJRabPrwbZy45sbavfcjinPJC18kjpRTv8": "usdt-tron",
}


@pytest.mark.parametrize(("address", "token"), [*CHECKED.items(), *UNCHECKED.items()])
def test_an_address_is_taken_as_the_wallet_writes_it(address: str, token: str) -> None:
    assert require_destination(ToWallet(f" {address}\u200b"), token) == ToWallet(address)
    assert hides_errors(ToWallet(address).masked, token) is (address in UNCHECKED)


@pytest.mark.parametrize(("address", "token"), CHECKED.items())
def test_an_address_with_a_wrong_character_is_refused(address: str, token: str) -> None:
    letters = [place for place, char in enumerate(address) if char.isalpha() and place > 1]
    for place in letters[:8]:
        other = "3" if token == "usdc-stellar" else address[place].swapcase()
        wrong = address[:place] + other + address[place + 1 :]
        with pytest.raises(ValueError, match="has a wrong character"):
            require_destination(ToWallet(wrong), token)


def test_our_keccak_is_that_of_the_standard_but_for_the_padding() -> None:
    """The same algorithm with SHA3's padding gives SHA3-256, which the standard library has."""
    for length in (0, 1, 40, 134, 135, 136, 137, 300):
        message = bytes(number * number % 251 for number in range(length))
        assert keccak_256(message, padding=0x06) == hashlib.sha3_256(message).digest()
    assert keccak_256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
