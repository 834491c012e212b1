"""Fiat disbursements: bank transfers to recipients, in batches, each with a transfer proof once it is completed."""
