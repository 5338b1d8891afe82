"""Measures of loss and risk."""
