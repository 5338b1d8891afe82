"""What an intruder gains."""
