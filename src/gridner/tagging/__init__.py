"""Mentions ⇄ a grid of tags, windows over long sentences, and the decoder."""
