"""The audit: deposits and disbursements are read again at the service, and compared with the stored rows.

It changes nothing, neither here nor at the service.
"""
