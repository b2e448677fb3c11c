with customers as (

    select * from {{ ref('stg_customers') }}

),

orders as (

    select * from {{ ref('fct_orders') }}

),

tiers as (

    select * from {{ ref('loyalty_tiers') }}

),

customer_orders as (

    select
        customer_id,
        min(order_date) as first_order_date,
        max(order_date) as last_order_date,
        count(*) as order_count,
        cast(sum(amount) as decimal(14, 2)) as lifetime_amount
    from orders
    where status = 'completed'
    group by customer_id

),

customer_tiers as (

    select
        customers.customer_id,
        max_by(tiers.tier, tiers.min_orders) as loyalty_tier
    from customers
    left join customer_orders on customers.customer_id = customer_orders.customer_id
    inner join tiers on coalesce(customer_orders.order_count, 0) >= tiers.min_orders
    group by customers.customer_id

)

select
    customers.customer_id,
    customers.full_name,
    customers.email,
    customers.signed_up_on,
    customers.home_store_id,
    customer_orders.first_order_date,
    customer_orders.last_order_date,
    coalesce(customer_orders.order_count, 0) as order_count,
    coalesce(customer_orders.lifetime_amount, cast(0 as decimal(14, 2))) as lifetime_amount,
    customer_tiers.loyalty_tier
from customers
left join customer_orders on customers.customer_id = customer_orders.customer_id
left join customer_tiers on customers.customer_id = customer_tiers.customer_id
