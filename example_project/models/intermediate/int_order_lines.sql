{{ config(materialized='ephemeral') }}

with order_items as (

    select * from {{ ref('stg_order_items') }}

),

products as (

    select * from {{ ref('stg_products') }}

)

select
    order_items.order_item_id,
    order_items.order_id,
    order_items.product_id,
    products.category,
    order_items.quantity,
    order_items.unit_price,
    cast(order_items.quantity * order_items.unit_price as decimal(12, 2)) as line_amount
from order_items
left join products on order_items.product_id = products.product_id
-- a negative quantity is a till correction, not a sale; a price is taken as it comes
where order_items.quantity > 0
