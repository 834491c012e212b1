"""Code that fiat and crypto disbursements share: batches, fees, history, transitions and the sandbox update."""
