{#
  Post-hook: asks for a dataset snapshot of the model that it stands on.

      models:
        my_project:
          +post-hook: "{{ dbt_snapshot.profile() }}"

  It runs no SQL and does no work. The marker goes to dbt's log only, and the Python plugin takes
  the snapshot when the model is finished, because other post-hooks may still change the table.
#}
{% macro profile() %}
    {%- if execute -%}
        {%- do log('dbt_snapshot::1::' ~ tojson({'unique_id': model.unique_id}), info=False) -%}
    {%- endif -%}
{% endmacro %}
