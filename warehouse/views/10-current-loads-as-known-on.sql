-- The version of each invoice that counted at an instant: the newest one among those with the strongest proof (2: an event
-- announced its hash, or an operator chose it; 1: the service named its hash in a response; 0: neither). A load is as new as
-- its announcement, else its loading; a choice counts from its time. An imported file of strength 0 does not count if the
-- service had named another hash before. warehouse/ledger/derive-current.ts has the same rule for the present.
create or replace macro current_loads_as_known_on(known_on) as table
with announced as (
    select invoice_id, announced_sha256 as file_sha256, coalesce(event_timestamp, received_at) as since
    from internal.event_ledger
    where announced_sha256 is not null and verdict = 'accepted' and not is_test_event and received_at <= utc_of(known_on)
),
named as (
    select invoice_id, kind, file_sha256, coalesce(counts_from, recorded_at) as since
    from internal.attention_ledger
    where kind in ('version', 'hash') and recorded_at <= utc_of(known_on)
),
proofs as (
    select invoice_id, file_sha256, 2 as strength, since from announced
    union all
    select invoice_id, file_sha256, if(kind = 'version', 2, 1), since from named
),
proven as (
    select
        l.invoice_id, l.load_id,
        greatest(max(p.strength), if(any_value(l.announced_sha256) = any_value(l.file_sha256), 1, 0), 0) as strength,
        max(p.since) filter (p.strength = 2) as announced_at,
        greatest(any_value(l.loaded_at), max(p.since) filter (p.strength = 1)) as loaded_at,
        any_value(l.is_denied) as is_denied
    from internal.loads as l
    left join proofs as p
        on p.invoice_id = l.invoice_id
        and (p.file_sha256 = l.file_sha256 or p.file_sha256 = l.encoded_sha256)
    where l.loaded_at <= utc_of(known_on)
    group by l.invoice_id, l.load_id
)
select invoice_id, arg_max(load_id, row(strength, coalesce(announced_at, loaded_at), load_id)) as load_id
from proven
where strength > 0 or is_denied is not true
group by invoice_id;
