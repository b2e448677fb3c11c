{{
    config(
        materialized='incremental',
        incremental_strategy='insert_overwrite',
        partition_by=['order_date']
    )
}}

with orders as (

    select * from {{ ref('fct_orders') }}
    where status = 'completed'
    {% if is_incremental() %}
    -- whole days only: the partitions of these days are replaced, the others stay
    and order_date >= (
        select date_sub(max(order_date), {{ var('sales_lookback_days') }}) from {{ this }}
    )
    {% endif %}

),

order_lines as (

    select * from {{ ref('int_order_lines') }}

)

select
    order_lines.product_id,
    order_lines.category,
    cast(sum(order_lines.quantity) as bigint) as quantity,
    cast(sum(order_lines.line_amount) as decimal(14, 2)) as revenue,
    orders.order_date
from orders
inner join order_lines on orders.order_id = order_lines.order_id
group by orders.order_date, order_lines.product_id, order_lines.category
