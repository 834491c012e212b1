"""Events: the outbox, and the shop's receivers and their transactions."""
