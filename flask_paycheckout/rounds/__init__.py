"""Reconcile: rounds that read deposits, deliver events, and send payouts beside them."""
