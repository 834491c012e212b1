"""A shop that has grown: a million checkouts, and what its commands and pages take then."""
