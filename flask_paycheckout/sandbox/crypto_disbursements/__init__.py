"""Crypto disbursements: tokens sent from the service's wallet to addresses, in batches."""
