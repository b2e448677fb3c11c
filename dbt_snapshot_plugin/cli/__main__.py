"""`python -m dbt_snapshot_plugin.cli` is `dbt-snapshot`."""

from __future__ import annotations

import sys

from dbt_snapshot_plugin.cli import main

if __name__ == "__main__":
    sys.exit(main())
