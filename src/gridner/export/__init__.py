"""Trained models as ONNX files, in 32 or 8 bits. Needs the extra `export`."""
