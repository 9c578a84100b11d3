-- What is noted of an invoice besides that it needs a person: what keeps failing while work goes on, and what a person
-- decided. All of them are lines of attention_ledger, since whoever reads one of them needs the others too.
alter table attention_ledger add column if not exists kind varchar;           -- failure, restored, version; null: it needs a person
alter table attention_ledger add column if not exists told_by varchar;        -- who decided; null: billsync itself
alter table attention_ledger add column if not exists file_sha256 varchar;    -- version: the file that was chosen
alter table attention_ledger add column if not exists counts_from timestamp;  -- version: as new as if announced at this instant

alter table invoice_state add column if not exists notes integer;             -- lines of attention_ledger; null: as before this column
alter table invoice_state add column if not exists void_word varchar;         -- event, details, unanswered, contradicted; null: not voided
alter table invoice_state add column if not exists restored_at timestamp;
alter table invoice_state add column if not exists past_voids varchar;        -- JSON list of voids that a person undid; null: none

-- When the service was last asked about an invoice by reconciliation. Not made from the archive: whoever loses it asks
-- once more.
create table if not exists ask_log (
    invoice_id uuid not null,
    asked_at timestamp not null
);
