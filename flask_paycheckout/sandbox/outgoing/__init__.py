"""Messages from the service, webhooks and mails, and the faults that a test plans for them and for requests."""
