"""What the product does: one verb per file, a result out, nothing printed."""
