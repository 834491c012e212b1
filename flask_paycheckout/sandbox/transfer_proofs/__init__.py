"""Transfer proofs: one page that shows a completed fiat disbursement, with names in the script they are written in."""
