"""Fiat disbursements: batches of bank transfers to recipients."""
