"""Payments (deprecated): a sender pays with crypto from a wallet, and a recipient gets fiat money."""
