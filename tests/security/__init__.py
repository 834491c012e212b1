"""Attacks on the extension's routes, tokens, pages and settings, and the table of the guard against each."""
