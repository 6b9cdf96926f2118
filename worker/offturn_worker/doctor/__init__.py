"""`offturn doctor`: what is wrong with the store, the queue, the workers, the sessions and the summarizers, and what to do."""
