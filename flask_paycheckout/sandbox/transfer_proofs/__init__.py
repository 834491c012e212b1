"""Transfer proofs of completed fiat disbursements, as PDF, with names in the script in which they are written."""
