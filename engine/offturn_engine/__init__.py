"""The pure core: messages, formats, invariants, prune, ledger, plan, apply, accept, render, fit and match.

No I/O, no async, no clock, no randomness: all of these are parameters.
"""
