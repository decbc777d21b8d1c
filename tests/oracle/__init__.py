"""An independent, naive reading of the contract, and what compares the product with it."""
