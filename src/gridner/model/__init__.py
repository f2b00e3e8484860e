"""The network: the paper's four modules, a file each, and their wiring."""
