"""Payments (deprecated): somebody sends crypto from a wallet, and a recipient gets fiat money for it."""
