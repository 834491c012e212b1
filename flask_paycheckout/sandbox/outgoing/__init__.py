"""Messages that the service sends, webhooks and mails, and planned faults of messages and requests."""
