"""The shop's products. Prices are exact Decimals, never floats."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Product:
    """A kind of jar.

    `consigned` marks the lighthouse's jars: Maren, its keeper, must receive their full price, so the customer pays the
    fee of the payment method.
    """

    slug: str
    name: str
    price: Decimal
    line: str
    story: str
    consigned: bool = False


SHELF = (
    Product(
        "first-snow",
        "First Snow",
        Decimal("24.00"),
        "The quiet kind, caught before anybody walked in it.",
        "Taken at six in the morning from an untouched field. Open it indoors and the whole street goes silent for as"
        " long as a cup of tea lasts. Keep it cool; do not shake.",
    ),
    Product(
        "morning-fog",
        "Morning Fog",
        Decimal("14.50"),
        "One valley's worth. Softens edges, hides the neighbours.",
        "Skimmed from a river valley just before the sun got to it. A spoonful is enough for a garden; the whole jar"
        " will take care of a view you have grown tired of.",
    ),
    Product(
        "summer-drizzle",
        "Summer Drizzle",
        Decimal("9.90"),
        "Warm, brief, and smelling of dust and lime trees.",
        "Too light for an umbrella, too pleasant to run from. Gardeners buy it by the dozen. Comes with the smell,"
        " which we never managed to sell separately.",
    ),
    Product(
        "distant-thunder",
        "Distant Thunder",
        Decimal("32.00"),
        "Seven good rolls, none of them any nearer than the hills.",
        "Aged two summers in the dark. For reading in bed, for finishing a long letter, for dogs with strong nerves."
        " Lightning is included but stays politely behind the clouds.",
    ),
    Product(
        "small-rainbow",
        "Small Rainbow",
        Decimal("38.40"),
        "All six colours, both ends. Gold not included.",
        "Big enough to span a window box. It needs a little sun and a little rain to stand up properly: our Summer"
        " Drizzle goes well with it.",
    ),
    Product(
        "north-wind",
        "North Wind",
        Decimal("18.00"),
        "Clears the head, the yard and the washing line.",
        "Caught in a sack on a pass and bottled the same night. Point it away from papers. Left ajar it will hum, and"
        " by the second evening you will know the tune.",
    ),
    Product(
        "golden-hour",
        "Golden Hour",
        Decimal("27.50"),
        "The last forty minutes of a very good day.",
        "Everything looks better in it, including soup. Decanted slowly from a west window; the label says forty"
        " minutes but we always fill generously.",
    ),
    Product(
        "october-gust",
        "October Gust",
        Decimal("16.80"),
        "Leaves included, in four colours, mostly dry.",
        "A single round-the-corner gust with everything it was carrying when we caught it. Good for kites, for capes,"
        " and for ending a conversation.",
    ),
    Product(
        "pocket-hail",
        "Pocket Hail",
        Decimal("11.25"),
        "Small, loud, harmless. Rattles nicely.",
        "Pea sized and carefully sorted. Sounds wonderful on a tin roof and a little worrying on a glass one. Melts"
        " into excellent water for orchids.",
    ),
    Product(
        "northern-lights",
        "Northern Lights",
        Decimal("120.00"),
        "From the lighthouse: one whole night of green and violet.",
        "Caught by Maren, who keeps the light at the end of the map. She waits for the right night and fills eleven"
        " jars, never twelve. Draw the curtains before you open it.",
        consigned=True,
    ),
    Product(
        "full-moon",
        "Full Moon, Over Water",
        Decimal("45.00"),
        "From the lighthouse: bright enough to read a map by.",
        "Caught by Maren from the gallery rail. Casts proper shadows, draws proper moths. Returns to the sky once a"
        " month and is back in the jar by morning.",
        consigned=True,
    ),
    Product(
        "sea-breeze",
        "Sea Breeze",
        Decimal("12.35"),
        "From the lighthouse: salt, tar and a gull that means well.",
        "Caught by Maren at the foot of the tower, at the turn of the tide. Turns any balcony into a deck. The gull is"
        " only the sound of one, so your sandwich is safe.",
        consigned=True,
    ),
)

CURRENCY = "USD"


def find(slug: str) -> Product | None:
    return next((product for product in SHELF if product.slug == slug), None)


def show_money(amount: Decimal) -> str:
    """Format an amount like `$1,234.50`, always with two decimals."""
    return f"${amount:,.2f}"
