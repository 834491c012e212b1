"""What fiat and crypto disbursements share: their batches, their history, how they move, the sandbox's update."""
