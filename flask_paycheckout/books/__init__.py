"""The books: the ledger, its export and audit, alarms, what the owner reads, and what is pruned."""
