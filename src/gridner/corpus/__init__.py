"""Corpora: splits, statistics, the gazetteer, flattened and coordinated entities, suggestions for annotators."""
