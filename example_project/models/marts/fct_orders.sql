with orders as (

    select * from {{ ref('stg_orders') }}

),

totals as (

    select * from {{ ref('int_order_totals') }}

),

customers as (

    select * from {{ ref('stg_customers') }}

)

select
    orders.order_id,
    orders.customer_id,
    customers.customer_id is not null as is_known_customer,
    orders.store_id,
    orders.order_date,
    orders.ordered_at,
    orders.status,
    orders.payment_method,
    coalesce(totals.item_count, 0) as item_count,
    coalesce(totals.amount, cast(0 as decimal(12, 2))) as amount
from orders
left join totals on orders.order_id = totals.order_id
left join customers on orders.customer_id = customers.customer_id
