-- Revenue per day must be the same whether it is added up by store or from the orders themselves.
with by_store as (

    select order_date, sum(revenue) as revenue
    from {{ ref('fct_daily_sales') }}
    group by order_date

),

by_order as (

    select order_date, sum(amount) as revenue
    from {{ ref('fct_orders') }}
    where status = 'completed'
    group by order_date

)

select
    by_order.order_date,
    by_order.revenue as revenue_of_orders,
    by_store.revenue as revenue_of_stores
from by_order
full outer join by_store on by_order.order_date = by_store.order_date
where by_order.revenue is distinct from by_store.revenue
