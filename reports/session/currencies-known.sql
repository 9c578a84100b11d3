-- What --currency may mean.
select distinct currency_code as value from known_shipments
union
select distinct currency_code from invoices where currency_code is not null
order by value
