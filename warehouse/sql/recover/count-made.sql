-- What a publication of this warehouse would tell of it. For DuckDB and PostgreSQL alike.
select
    (select count(*)::integer from invoice_state) as invoices,
    (select coalesce(sum(l.shipments), 0)::varchar from invoice_state as i join loads as l on l.load_id = i.current_load_id
        where i.voided_at is null) as shipments
