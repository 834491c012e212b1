"""Currencies, tokens and exact arithmetic with amounts."""
