-- title: Up to which migration the warehouse had come, and how many invoices were under way, when this was published
-- grain: one row
select
    (select max(number) from schema_migrations)::integer as schema_number,
    (select count(*) from invoices where state not in ('loaded', 'voided')) as open_invoices
