"""Random requests to the sandbox's service, its control interface and its pages.

    python -m tests.fuzz --minutes 30 --postgresql

Nothing that is sent may be answered with a 5xx, outside the service's envelope, or with what the documents do not have.
Each world is small: it is made with switches of its own, on SQLite in memory and on PostgreSQL in turn, lives for some
hundred requests and follows from the seed.
"""
