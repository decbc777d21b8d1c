"""Faults on a real broker, and a verifier that knows the contract and not the product."""
