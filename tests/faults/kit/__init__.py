"""The fault kit: harm done on purpose to real processes, by seed, and a judge that trusts none of them. See docs/faults.md."""
