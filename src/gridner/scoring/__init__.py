"""Scores of predictions against gold, how sure they are, and their JSON."""
