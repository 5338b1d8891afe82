"""Methods that let populations of partitions evolve."""
