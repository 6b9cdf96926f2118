"""Sessions that other releases wrote, and what this one does with them."""
