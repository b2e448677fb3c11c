with source as (

    select * from {{ source('coffee_raw', 'stores') }}

)

select
    store_id,
    store_name,
    city,
    opened_on
from source
