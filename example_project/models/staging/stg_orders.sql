with source as (

    select * from {{ source('coffee_raw', 'orders') }}

),

latest as (

    select
        *,
        row_number() over (
            partition by order_id order by revision desc, delivered_on desc
        ) as recency
    from source

),

timed as (

    select
        *,
        try_to_timestamp(ordered_at, 'yyyy-MM-dd HH:mm:ss') as till_time
    from latest
    where recency = 1

)

select
    order_id,
    customer_id,
    store_id,
    status,
    payment_method,
    delivered_on,
    case when to_date(till_time) = delivered_on then till_time end as ordered_at,
    -- a till with a wrong clock still delivers on the right day
    delivered_on as order_date,
    coalesce(to_date(till_time) = delivered_on, false) as has_valid_time
from timed
