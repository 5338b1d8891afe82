"""Running methods: here and now, later in blocks, threads and on a cluster."""
