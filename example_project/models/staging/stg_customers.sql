with source as (

    select * from {{ source('coffee_raw', 'customers') }}

)

select
    customer_id,
    full_name,
    lower(trim(email)) as email,
    signed_up_on,
    home_store_id
from source
