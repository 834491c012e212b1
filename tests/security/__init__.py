"""Attacks on the extension's routes, tokens, pages and settings, and the table of what stands against each."""
