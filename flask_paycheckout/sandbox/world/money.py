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


@dataclass(frozen=True)
class Network:
    """A chain: its name in token ids, its title for people, and its number."""

    name: str
    title: str
    chain_id: int
    """The EIP-155 number; 0 for Stellar, which has none."""
    blockchain_type: str


ETHEREUM = Network("ethereum", "Ethereum", 1, EVM)
OPTIMISM = Network("optimism", "OP Mainnet", 10, EVM)
BSC = Network("bsc", "BNB Smart Chain", 56, EVM)
POLYGON = Network("polygon", "Polygon", 137, EVM)
BASE = Network("base", "Base", 8453, EVM)
ARBITRUM = Network("arbitrum", "Arbitrum One", 42161, EVM)
AVALANCHE = Network("avalanche", "Avalanche C-Chain", 43114, EVM)
PUBNET = Network("stellar", "Stellar", 0, STELLAR)


@dataclass(frozen=True)
class Token:
    """A token or coin on one network."""

    symbol: str
    name: str
    chain: Network
    address: str
    """The contract; on Stellar the issuing account, empty for the network's own coin."""
    decimal: int
    price_id: str
    """Its name in price lists, the same on every network."""
    currencies: tuple[str, ...]
    """Fiat currencies that it can be exchanged for."""
    is_native: bool = False

    @property
    def id(self) -> str:
        return f"{self.symbol.lower()}-{self.chain.name}"

    @property
    def label(self) -> str:
        return f"{self.symbol} ({self.chain.title})"

    @property
    def network(self) -> str:
        return self.chain.name

    @property
    def chain_id(self) -> int:
        return self.chain.chain_id

    @property
    def blockchain_type(self) -> str:
        return self.chain.blockchain_type

    @property
    def uses_smart_contract(self) -> bool:
        """Whether payments go through the service's contract, which supports tokens but no native coins."""
        return self.blockchain_type == EVM and not self.is_native


_DOLLAR = ("USD", "EUR", "GBP", "IDR", "INR", "SGD")
_EURO = ("EUR", "USD", "GBP")
_COIN = ("USD", "EUR")


def _usdc(chain: Network, address: str, decimal: int = 6) -> Token:
    return Token("USDC", "USD Coin", chain, address, decimal, "usd-coin", _DOLLAR)


def _usdt(chain: Network, address: str, decimal: int = 6) -> Token:
    return Token("USDT", "Tether USD", chain, address, decimal, "tether", _DOLLAR)


def _dai(chain: Network, address: str) -> Token:
    return Token("DAI", "Dai Stablecoin", chain, address, 18, "dai", _DOLLAR)


def _eurc(chain: Network, address: str, decimal: int = 6) -> Token:
    return Token("EURC", "Euro Coin", chain, address, decimal, "euro-coin", _EURO)


def _coin(symbol: str, name: str, chain: Network, price_id: str) -> Token:
    return Token(symbol, name, chain, NO_CONTRACT, 18, price_id, _COIN, is_native=True)


TOKENS = (
    _usdc(ETHEREUM, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),
    _usdt(ETHEREUM, "0xdAC17F958D2ee523a2206206994597C13D831ec7"),
    _dai(ETHEREUM, "0x6B175474E89094C44Da98b954EedeAC495271d0F"),
    _eurc(ETHEREUM, "0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c"),
    _coin("ETH", "Ether", ETHEREUM, "ethereum"),
    _usdc(POLYGON, "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"),
    _usdt(POLYGON, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F"),
    _dai(POLYGON, "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063"),
    _coin("POL", "Polygon Ecosystem Token", POLYGON, "polygon-ecosystem-token"),
    _usdc(BASE, "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
    _eurc(BASE, "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42"),
    _coin("ETH", "Ether", BASE, "ethereum"),
    _usdc(ARBITRUM, "0xaf88d065e77c8cC2239327C5EDb3A432268e5831"),
    _usdt(ARBITRUM, "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9"),
    _coin("ETH", "Ether", ARBITRUM, "ethereum"),
    _usdc(OPTIMISM, "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85"),
    _usdc(AVALANCHE, "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E"),
    _coin("AVAX", "Avalanche", AVALANCHE, "avalanche-2"),
    # On this network, both have as many decimals as its own coin.
    _usdc(BSC, "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", decimal=18),
    _usdt(BSC, "0x55d398326f99059fF775485246999027B3197955", decimal=18),
    _coin("BNB", "BNB", BSC, "binancecoin"),
    _usdc(PUBNET, "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN", decimal=7),
    _eurc(PUBNET, "GDHU6WRG4IEQXM5NZ4BMPKOXHW76MZM4Y2IEMFDVXBSDP6SJY4ITNPP2", decimal=7),
    Token("XLM", "Stellar Lumens", PUBNET, "", 7, "stellar", _COIN, is_native=True),
)

_BY_ID = {token.id: token for token in TOKENS}


def find_token(token_id: str) -> Token | None:
    """Find a token by its id."""
    return _BY_ID.get(token_id)


EXACT = Context(prec=120, rounding=ROUND_UP)
"""Decimal context in which sums and products are exact, because amounts in requests have at most 60 digits, and rates
and percentages far fewer. Only divisions are rounded, up, in the 120th digit.
"""


def rows_of(table: str) -> Iterator[list[str]]:
    """The rows of a table that is written as text: a line each, with a bar between the cells."""
    for line in table.strip().splitlines():
        yield [cell.strip() for cell in line.split("|")]


def rounded(amount: Decimal, currency: str, rounding: str = ROUND_UP) -> Decimal:
    """Round an amount to the smallest unit of its currency, with all of the currency's decimals."""
    return amount.quantize(unit_of(currency), rounding=rounding, context=EXACT)


TOKEN_DECIMALS = {token.id: token.decimal for token in TOKENS} | {"usdt-tron": 6}
"""Decimals by token id (`<symbol>-<network>`). Tron is neither EVM nor STELLAR: its token can pay deposits, but is not
used elsewhere in the service.
"""


def decimals_of(code: str) -> int | None:
    """Decimals of a fiat or token code; None when no such code exists.

    Codes without decimals in ISO 4217, such as gold and test codes, do not exist here: nobody pays in them.
    """
    return TOKEN_DECIMALS[code] if code in TOKEN_DECIMALS else _iso_decimals().get(code)


@cache
def _iso_decimals() -> dict[str, int | None]:
    # Imported here because it parses the whole ISO table, which starting a sandbox does not need.
    from iso4217 import Currency

    return {currency.code: currency.exponent for currency in Currency}


def is_token(code: str) -> bool:
    return code in TOKEN_DECIMALS


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
