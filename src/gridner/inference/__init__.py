"""From text to entities, without torch. Start with `recognizer.py`."""
