select
    (select count(*) from shipment_rows)::double as rows,
    (select count(*) from repeated_rows)::double as repeated,
    (select count(*) from repeated_copies)::double as copies
