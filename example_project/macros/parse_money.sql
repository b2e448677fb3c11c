{# A price as text (4.50, 4,50 EUR, EUR 4.50) to a decimal; null if it holds no number. #}
{% macro parse_money(column_name) -%}
    try_cast(
        regexp_replace(replace({{ column_name }}, ',', '.'), '[^0-9.-]', '') as decimal(9, 2)
    )
{%- endmacro %}
