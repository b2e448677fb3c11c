{{
    config(
        materialized='incremental',
        incremental_strategy='append'
    )
}}

with orders as (

    select * from {{ ref('stg_orders') }}

),

events as (

    select
        order_id,
        explode(
            case when status = 'placed' then array('placed') else array('placed', status) end
        ) as event_type,
        store_id,
        order_date
    from orders

),

keyed as (

    select
        concat(order_id, '-', event_type) as event_id,
        order_id,
        event_type,
        store_id,
        order_date
    from events

)

select *
from keyed
{% if is_incremental() %}
-- not by date: a late delivery for a day that is already here still counts
where event_id not in (select event_id from {{ this }})
{% endif %}
