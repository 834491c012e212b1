"""Money in: start a checkout, take its webhooks, settle it, deliver its events."""
