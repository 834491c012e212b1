"""The languages of the customers' pages."""
