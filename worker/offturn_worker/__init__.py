"""What a pod runs: the arq worker around the recipe, its health and logs, and the command line."""
