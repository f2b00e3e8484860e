"""From text to entities, without torch: checkpoints, batches, engines, the recognizer."""
