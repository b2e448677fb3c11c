"""Ways of bringing Arrow batches to the kernel. Import the one you need: each has its own host."""

from __future__ import annotations
