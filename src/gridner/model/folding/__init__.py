"""The network with its affine maps multiplied out, for prediction and export."""
