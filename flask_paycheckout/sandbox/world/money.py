"""Currency and token codes, their decimals, and exact arithmetic with amounts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_UP, Context, Decimal
from functools import cache

EVM = "EVM"
STELLAR = "STELLAR"

NO_CONTRACT = "0x0000000000000000000000000000000000000000"
"""The address that represents a network's own coin."""


def rows_of(table: str) -> Iterator[list[str]]:
    """The rows of a table that is written as text: one row per line, with a bar between the cells."""
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


@dataclass(frozen=True)
class Token:
    """A token or coin on one network."""

    symbol: str
    name: str
    price_id: str
    """Its name in price lists, the same on every network."""
    price: Decimal
    """In USD."""
    currencies: tuple[str, ...]
    """Fiat currencies that it can be exchanged for."""
    network: str
    """Its name in token ids."""
    chain: str
    """The network's title for people."""
    chain_id: int
    """The EIP-155 number; 0 for Stellar, which has none."""
    blockchain_type: str
    decimal: int
    fee_flat: Decimal
    fee_network: Decimal
    """The fee of a disbursement, in the token; a network's own coin costs about as much as the others on it."""
    contract: str
    """On Stellar the issuing account; empty for the network's own coin."""

    @property
    def id(self) -> str:
        return f"{self.symbol.lower()}-{self.network}"

    @property
    def label(self) -> str:
        return f"{self.symbol} ({self.chain})"

    @property
    def is_native(self) -> bool:
        return not self.contract

    @property
    def address(self) -> str:
        return self.contract or (NO_CONTRACT if self.blockchain_type == EVM else "")

    @property
    def uses_smart_contract(self) -> bool:
        """Whether payments go through the service's contract, which supports tokens but no native coins."""
        return self.blockchain_type == EVM and not self.is_native


_NETWORKS = {
    name: (name, title, int(chain_id), blockchain_type)
    for name, title, chain_id, blockchain_type in rows_of("""
ethereum  | Ethereum          | 1     | EVM
optimism  | OP Mainnet        | 10    | EVM
bsc       | BNB Smart Chain   | 56    | EVM
polygon   | Polygon           | 137   | EVM
base      | Base              | 8453  | EVM
arbitrum  | Arbitrum One      | 42161 | EVM
avalanche | Avalanche C-Chain | 43114 | EVM
stellar   | Stellar           | 0     | STELLAR
""")
}
_COINS = {
    symbol: (symbol, name, price_id, Decimal(price), tuple(currencies.split()))
    for symbol, name, price_id, price, currencies in rows_of("""
USDC | USD Coin                | usd-coin                | 0.9979  | USD EUR GBP IDR INR SGD
USDT | Tether USD              | tether                  | 0.9985  | USD EUR GBP IDR INR SGD
DAI  | Dai Stablecoin          | dai                     | 0.9992  | USD EUR GBP IDR INR SGD
EURC | Euro Coin               | euro-coin               | 1.0815  | EUR USD GBP
ETH  | Ether                   | ethereum                | 2695.42 | USD EUR
POL  | Polygon Ecosystem Token | polygon-ecosystem-token | 0.4118  | USD EUR
AVAX | Avalanche               | avalanche-2             | 27.15   | USD EUR
BNB  | BNB                     | binancecoin             | 597.3   | USD EUR
XLM  | Stellar Lumens          | stellar                 | 0.0942  | USD EUR
""")
}
TOKENS = tuple(
    # The fees: flat, and the network's. On BSC all tokens have as many decimals as its own coin.
    Token(*_COINS[symbol], *_NETWORKS[network], int(decimal), Decimal(flat), Decimal(of_network), contract)
    for symbol, network, decimal, flat, of_network, contract in rows_of("""
USDC | ethereum  | 6  | 0.10    | 1.50     | 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48
USDT | ethereum  | 6  | 0.10    | 1.50     | 0xdAC17F958D2ee523a2206206994597C13D831ec7
DAI  | ethereum  | 18 | 0.10    | 1.50     | 0x6B175474E89094C44Da98b954EedeAC495271d0F
EURC | ethereum  | 6  | 0.10    | 1.50     | 0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c
ETH  | ethereum  | 18 | 0.00003 | 0.0004   |
USDC | polygon   | 6  | 0.10    | 0.01     | 0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359
USDT | polygon   | 6  | 0.10    | 0.01     | 0xc2132D05D31c914a87C6611C10748AEb04B58e8F
DAI  | polygon   | 18 | 0.10    | 0.01     | 0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063
POL  | polygon   | 18 | 0.4     | 0.04     |
USDC | base      | 6  | 0.10    | 0.02     | 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913
EURC | base      | 6  | 0.10    | 0.02     | 0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42
ETH  | base      | 18 | 0.00003 | 0.000006 |
USDC | arbitrum  | 6  | 0.10    | 0.03     | 0xaf88d065e77c8cC2239327C5EDb3A432268e5831
USDT | arbitrum  | 6  | 0.10    | 0.03     | 0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9
ETH  | arbitrum  | 18 | 0.00003 | 0.00001  |
USDC | optimism  | 6  | 0.10    | 0.02     | 0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85
USDC | avalanche | 6  | 0.10    | 0.04     | 0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E
AVAX | avalanche | 18 | 0.005   | 0.002    |
USDC | bsc       | 18 | 0.10    | 0.05     | 0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d
USDT | bsc       | 18 | 0.10    | 0.05     | 0x55d398326f99059fF775485246999027B3197955
BNB  | bsc       | 18 | 0.0002  | 0.0001   |
USDC | stellar   | 7  | 0.10    | 0.0001   | GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN
EURC | stellar   | 7  | 0.10    | 0.0001   | GDHU6WRG4IEQXM5NZ4BMPKOXHW76MZM4Y2IEMFDVXBSDP6SJY4ITNPP2
XLM  | stellar   | 7  | 0.5     | 0.00001  |
""")
)

TOKENS_BY_ID = {token.id: token for token in TOKENS}


EXACT = Context(prec=120, rounding=ROUND_UP)
"""Decimal context in which sums and products are exact, because amounts in requests have at most 60 digits, and rates
and percentages far fewer. Only divisions are rounded, up, in the 120th digit.
"""


def rounded(amount: Decimal, currency: str, rounding: str = ROUND_UP) -> Decimal:
    """Round an amount to the smallest unit of its currency, with all of the currency's decimals."""
    return amount.quantize(unit_of(currency), rounding=rounding, context=EXACT)


def share_of(amount: Decimal, percentage: Decimal) -> Decimal:
    """A percentage of an amount, exactly."""
    return EXACT.multiply(amount, percentage.scaleb(-2, EXACT))


TOKEN_DECIMALS = {token.id: token.decimal for token in TOKENS} | {"usdt-tron": 6}
"""Decimals by token id (`<symbol>-<network>`). Tron is neither EVM nor STELLAR: its token can pay deposits, but is not
used elsewhere in the service.
"""


def decimals_of(code: str) -> int | None:
    """Decimals of a fiat or token code; None when no such code exists.

    Codes without decimals in ISO 4217, such as gold and test codes, do not exist here: nobody pays in them.
    """
    return TOKEN_DECIMALS[code] if code in TOKEN_DECIMALS else _iso_decimals().get(code)


def is_known(code: str) -> bool:
    return decimals_of(code) is not None


def is_fiat(code: str) -> bool:
    return is_known(code) and code not in TOKEN_DECIMALS


def fiat_codes() -> list[str]:
    return sorted(filter(is_known, _iso_decimals()))


@cache
def _iso_decimals() -> dict[str, int | None]:
    # Imported here because it parses the whole ISO table, which starting a sandbox does not need.
    from iso4217 import Currency

    return {currency.code: currency.exponent for currency in Currency}


@cache
def unit_of(code: str) -> Decimal:
    """The smallest amount of a known currency: 0.01 for USD, 1 for JPY."""
    decimals = decimals_of(code)
    if decimals is None:
        raise LookupError(f"{code!r} is no currency the sandbox knows")
    return Decimal(1).scaleb(-decimals)


def is_divisible(amount: Decimal, decimals: int) -> bool:
    """Whether an amount is a whole number of units with that many decimals."""
    # Integers, because a decimal context would round long amounts first.
    numerator, denominator = amount.as_integer_ratio()
    return bool(numerator * 10**decimals % denominator == 0)
