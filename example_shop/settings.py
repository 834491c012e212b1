"""The default settings; the file of SHOP_SETTINGS and variables that begin with FLASK_ override them."""

from example_shop.products import CURRENCY

SQLALCHEMY_DATABASE_URI = "sqlite:///shop.sqlite"  # in the folder `instance`
MAX_CONTENT_LENGTH = 64 * 1024  # bytes of a form; the shop's longest has about a page of text

OWNER_PASSWORD = None  # the owner cannot log in until it is set
RATELIMIT_STORAGE_URI = "memory://"  # counts in each process; "redis://localhost" counts for several together
RATELIMIT_HEADERS_ENABLED = True

SESSION_COOKIE_SAMESITE = "Lax"  # a customer who comes back from the hosted payment page still has the basket
SESSION_COOKIE_SECURE = None  # only over https, except in debug and testing mode
WTF_CSRF_TIME_LIMIT = None  # a form is valid as long as its session
WTF_CSRF_SSL_STRICT = False  # some browsers send no Referer, and the token is enough

BRAND_KEYS: list[str] = []  # the first encrypts the keys of brands' accounts, and each of them decrypts
WAREHOUSE_URL = None  # parcels are not ordered until it is set
WAREHOUSE_TIMEOUT = 5.0  # seconds
MAIL_SERVER = None  # letters stay on the owner's page until it is set
MAIL_PORT = 587
MAIL_TIMEOUT = 10.0  # seconds
MAIL_USERNAME = None  # with a user name, the connection is encrypted first
MAIL_PASSWORD = None
MAIL_SENDER = "Fair & Foul <shop@fair-and-foul.example>"

PAYCHECKOUT_SHOP_NAME = "Fair & Foul"
PAYCHECKOUT_LOGO = "/static/favicon.svg"
PAYCHECKOUT_CONTACT = "weather@fair-and-foul.example"
PAYCHECKOUT_SELLER = "Fair & Foul, 3 Harbour Steps, Port Tempest"
# The seconds for which an order keeps its jars while it waits for its money; banks are slower than tokens.
PAYCHECKOUT_PENDING_FOR = {"crypto": 60 * 60, "bank": 24 * 60 * 60}
# Seconds after which a customer who has begun to pay, and has not paid, is reminded.
PAYCHECKOUT_REMIND_AFTER = [24 * 60 * 60, 3 * 24 * 60 * 60]
# The amounts from which a payout waits for the owner's approval; a refund that a customer claimed always waits.
PAYCHECKOUT_APPROVE_OVER = {CURRENCY: "500.00", "usdc-polygon": "500"}
