"""A report as one page: HTML that needs nothing else, neither network nor scripts."""
