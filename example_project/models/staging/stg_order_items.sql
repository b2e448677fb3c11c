with source as (

    select * from {{ source('coffee_raw', 'order_items') }}

)

select
    order_item_id,
    order_id,
    product_id,
    quantity,
    {{ parse_money('unit_price') }} as unit_price,
    delivered_on
from source
