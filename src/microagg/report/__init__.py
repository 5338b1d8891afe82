"""What people look at: pictures of groups; later the report of a release."""
