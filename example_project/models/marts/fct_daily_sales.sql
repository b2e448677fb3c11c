with orders as (

    select * from {{ ref('fct_orders') }}

),

stores as (

    select * from {{ ref('stg_stores') }}

)

select
    orders.order_date,
    orders.store_id,
    stores.store_name,
    stores.city,
    count(*) as order_count,
    count(distinct orders.customer_id) as customer_count,
    sum(orders.item_count) as item_count,
    cast(sum(orders.amount) as decimal(14, 2)) as revenue
from orders
left join stores on orders.store_id = stores.store_id
where orders.status = 'completed'
group by orders.order_date, orders.store_id, stores.store_name, stores.city
