"""Other libraries: spaCy, datasets, pandas and Arrow, Ray."""
