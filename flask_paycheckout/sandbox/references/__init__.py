"""The reference lists (deprecated): currencies, tokens, banks and payment methods, for everybody to read."""
