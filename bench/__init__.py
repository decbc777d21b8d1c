"""Measurements beside peers, on one machine in one run. Nothing of this is in the product or in its tests."""
