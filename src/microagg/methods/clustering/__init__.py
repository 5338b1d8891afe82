"""Methods that come from clustering: centres and what belongs to them."""
