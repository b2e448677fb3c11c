"""Types and rules of the product: pure, no input or output."""
