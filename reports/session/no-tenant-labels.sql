-- Every tenant goes by the name that its rows have (tenants-are-plain.sql), so none needs a label.
create or replace temp table tenant_labels (tenant_key varchar, label varchar)
