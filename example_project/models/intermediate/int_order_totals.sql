{{ config(materialized='table') }}

with order_lines as (

    select * from {{ ref('int_order_lines') }}

)

select
    order_id,
    count(*) as line_count,
    cast(sum(quantity) as bigint) as item_count,
    cast(sum(line_amount) as decimal(12, 2)) as amount
from order_lines
group by order_id
