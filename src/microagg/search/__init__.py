"""What composes construction, refinement and bounds."""
