-- Which load of an invoice counted, or was void, from when to when, as derive-invoice.ts has derived it; the span until null is the
-- present. A span that begins in the future is of a clock that was ahead: it began before the publication that contains it.
create or replace macro counting_spans() as table
with published as (
    select arg_max(published_at, sequence) as at, now()::timestamptz at time zone 'UTC' as reader_at
    from internal.publication_log
),
spans as (
    select invoice_id, current_load_id as load_id, voided_at, counts_since as since, cast(null as timestamp) as until
    from internal.invoice_state
    where counts_since is not null
    union all
    select invoice_id, span.load_id, span.voided_at, span.since, span.until
    from (
        select invoice_id, unnest(from_json(
            past_counts, '[{"load_id": "INTEGER", "voided_at": "TIMESTAMP", "since": "TIMESTAMP", "until": "TIMESTAMP"}]'
        )) as span
        from internal.invoice_state
        where past_counts is not null
    )
)
select
    s.invoice_id, s.load_id, s.voided_at,
    if(s.since > p.reader_at, least(s.since, p.at), s.since) as since,
    if(s.until > p.reader_at, least(s.until, p.at), s.until) as until
from spans as s
cross join published as p;

-- The load of each invoice that counted at an instant; `voided_at` is set if it was void then.
create or replace macro loads_as_known_on(known_on) as table
select invoice_id, load_id, voided_at
from counting_spans()
where since <= utc_of(known_on) and (until is null or until > utc_of(known_on));
