"""Lower bounds: what no partition can lose less than, with a proof that others can check."""
