"""Reference lists (deprecated): currencies, tokens, banks and payment methods, without credentials."""
