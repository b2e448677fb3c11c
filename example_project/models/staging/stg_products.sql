with source as (

    select * from {{ source('coffee_raw', 'products') }}

)

select
    product_id,
    product_name,
    category,
    {{ parse_money('list_price') }} as list_price
from source
