"""Reconcile: rounds that read deposits and deliver events, and send payouts at the same time."""
