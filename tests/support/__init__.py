"""What tests share: small corpora and models, strategies, a running service."""
