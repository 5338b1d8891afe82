"""Improving a given partition."""
