{#
  Where the raw files lie: below COFFEE_HOME, else below the directory of profiles.yml. Spark reads
  a relative table location as relative to the schema, so a relative home is anchored at the
  working directory of the driver, which Spark fills in itself.
#}
{% macro raw_location(table_name) %}
    {%- set home = env_var('COFFEE_HOME', flags.PROFILES_DIR) -%}
    {%- if not home.startswith('/') -%}
        {%- set home = '${system:user.dir}/' ~ home -%}
    {%- endif -%}
    {{ return(home ~ '/raw/' ~ table_name) }}
{% endmacro %}


{#
  Makes every table of the source coffee_raw known to Spark as an external table over its files.
  Runs before each command that builds or tests; an existing table is pointed at this home's files
  again, and its file listing is read anew, so a new delivery is seen.
#}
{% macro register_raw_tables() %}
    {% if execute and flags.WHICH in ('run', 'build', 'test', 'seed', 'snapshot', 'retry') %}
        {% do run_query('create schema if not exists coffee_raw') %}
        {% for source in graph.sources.values() if source.source_name == 'coffee_raw' %}
            {% set name = source.schema ~ '.' ~ source.identifier %}
            {% set location = raw_location(source.identifier) %}
            {% do run_query(
                'create table if not exists ' ~ name ~ " using parquet location '" ~ location ~ "'"
            ) %}
            {% do run_query('alter table ' ~ name ~ " set location '" ~ location ~ "'") %}
            {% do run_query('refresh table ' ~ name) %}
        {% endfor %}
    {% endif %}
{% endmacro %}
