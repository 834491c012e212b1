"""Crypto disbursements: batches of tokens sent from the service's wallet to other wallets."""
