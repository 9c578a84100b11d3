-- The columns and the table of warehouse/migrations/0006-notes-of-invoices.sql, which explains them.
alter table attention_ledger add column if not exists kind text;
alter table attention_ledger add column if not exists told_by text;
alter table attention_ledger add column if not exists file_sha256 text;
alter table attention_ledger add column if not exists counts_from timestamp;

alter table invoice_state add column if not exists notes integer;
alter table invoice_state add column if not exists void_word text;
alter table invoice_state add column if not exists restored_at timestamp;
alter table invoice_state add column if not exists past_voids text;

create table if not exists ask_log (
    invoice_id uuid primary key,
    asked_at timestamp not null
);
