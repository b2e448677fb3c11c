"""Run the Great Expectations suites of gx/ on the tables that dbt built.

Uses the Spark session of this process if there is one, else opens one with the configuration of
profiles.yml, so that it sees dbt's metastore. (Embedded Derby lets one process in at a time: do
not run this while dbt runs in another one.) Results are stored by Great Expectations as JSON
below gx/uncommitted/validations/.

    python scripts/run_gx.py                       every suite
    python scripts/run_gx.py --suite fct_orders    one of them

Exit code: 0 no critical expectation failed, 1 at least one did, 2 it could not be run.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import yaml
from jinja2 import Environment, StrictUndefined

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOME = Path(__file__).resolve().parents[1]
PROFILE = "coffee_shop"
DATASOURCE = "coffee"


class CannotRunError(Exception):
    """Something outside the suites is missing; the text says what to do."""


def env_var(name: str, default: str | None = None) -> str:
    """dbt's function of that name, as far as profiles.yml needs it."""
    value = os.environ.get(name, default)
    if value is None:
        raise CannotRunError(f"profiles.yml needs the environment variable {name}")
    return value


def dbt_target() -> dict[str, Any]:
    """The default target of profiles.yml, rendered the way dbt renders it."""
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    context = {"env_var": env_var, "flags": SimpleNamespace(PROFILES_DIR=str(HOME))}

    def render(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: render(item) for key, item in value.items()}
        return environment.from_string(value).render(context) if isinstance(value, str) else value

    profile = yaml.safe_load((HOME / "profiles.yml").read_text(encoding="utf-8"))[PROFILE]
    target: dict[str, Any] = render(profile["outputs"][profile["target"]])
    return target


def open_session(target: dict[str, Any]) -> tuple[SparkSession, bool]:
    """The session of this process, else a new one like dbt's; and whether it is new."""
    from pyspark.errors import AnalysisException
    from pyspark.sql import SparkSession

    current = SparkSession._instantiatedSession
    existed = current is not None and current._sc._jsc is not None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.enableHiveSupport()
    for key, value in target["server_side_parameters"].items():
        builder = builder.config(key, value)
    # dbt-spark turns ANSI mode off in every session it opens
    session = builder.config("spark.sql.ansi.enabled", "false").getOrCreate()
    try:
        session.sql("show databases").collect()
    except AnalysisException as error:
        raise CannotRunError(
            "Spark cannot open the metastore in .spark/; if dbt is running, wait for its end"
        ) from error
    return session, not existed


def open_context() -> Any:
    """The file context of this project; never a new one somewhere else."""
    import great_expectations as gx

    if not (HOME / "gx" / "great_expectations.yml").is_file():
        raise CannotRunError(f"there is no Great Expectations project in {HOME / 'gx'}")
    return gx.get_context(mode="file", project_root_dir=HOME)


def chosen_definitions(context: Any, suites: Sequence[str]) -> list[Any]:
    """The validation definitions of the asked suites, all of them if none is named."""
    known = {found.suite.name: found for found in context.validation_definitions.all()}
    unknown = ", ".join(sorted(set(suites) - set(known)))
    if unknown:
        raise CannotRunError(f"no suite {unknown}; there are: {', '.join(sorted(known))}")
    return [known[name] for name in sorted(suites or known)]


def run_definition(
    definition: Any, session: SparkSession, schema: str, run_name: str | None
) -> Any:
    """Judge the table that the definition's asset is named after; GX stores the result."""
    from great_expectations.core.run_identifier import RunIdentifier

    table = f"{schema}.{definition.asset.name}"
    if not session.catalog.tableExists(table):
        raise CannotRunError(f"there is no table {table}; run `dbt seed` and `dbt run` first")
    return definition.run(
        batch_parameters={"dataframe": session.table(table)},
        result_format="SUMMARY",
        run_id=RunIdentifier(run_name=run_name) if run_name else None,
    )


def report(suite: str, result: Any) -> bool:
    """Print one line per suite and per failed expectation; true if nothing critical failed."""
    failed = [check for check in result.results if not check.success]
    critical = [check for check in failed if check.expectation_config.severity == "critical"]
    state = "FAIL" if critical else "PASS"
    passed = len(result.results) - len(failed)
    print(f"{state} {suite}: {passed} of {len(result.results)} expectations hold")
    for check in failed:
        config = check.expectation_config
        column = config.kwargs.get("column", "table")
        count = check.result.get("unexpected_count", "?")
        print(f"     {config.severity.value}: {config.type} on {column}, {count} unexpected")
    return not critical


def run(suites: Sequence[str], run_name: str | None) -> bool:
    """Run the suites and tell whether every critical expectation holds."""
    target = dbt_target()
    # first the session: GX would otherwise start one of its own, without the metastore
    session, is_new = open_session(target)
    try:
        definitions = chosen_definitions(open_context(), suites)
        verdicts = [
            report(
                definition.suite.name,
                run_definition(definition, session, target["schema"], run_name),
            )
            for definition in definitions
        ]
    finally:
        if is_new:
            session.stop()
    return all(verdicts)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the Great Expectations suites.")
    parser.add_argument("--suite", action="append", default=[], help="suite to run, repeatable")
    parser.add_argument("--run-name", help="name to store, e.g. dbt's invocation id")
    options = parser.parse_args(argv)
    try:
        return 0 if run(options.suite, options.run_name) else 1
    except CannotRunError as error:
        print(f"run_gx: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
