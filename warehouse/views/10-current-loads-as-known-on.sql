-- Which version of an invoice counted at an instant: the one announced last. A load that no event announced is as
-- new as its loading, so late, reordered announcements of an older file change nothing. A version that a person chose by
-- then is as new as the choice.
create or replace macro current_loads_as_known_on(known_on) as table
select invoice_id, arg_max(load_id, row(announced_at, load_id)) as load_id
from (
    select
        l.invoice_id, l.load_id,
        greatest(coalesce(max(e.event_timestamp), any_value(l.loaded_at)), max(c.counts_from)) as announced_at
    from internal.loads as l
    left join internal.attention_ledger as c
        on c.kind = 'version' and c.invoice_id = l.invoice_id and c.file_sha256 = l.file_sha256 and c.recorded_at <= utc_of(known_on)
    left join internal.event_ledger as e
        on e.invoice_id = l.invoice_id and e.announced_sha256 = l.file_sha256
        and e.verdict = 'accepted' and not e.is_test_event and e.received_at <= utc_of(known_on)
    where l.loaded_at <= utc_of(known_on)
    group by l.invoice_id, l.load_id
)
group by invoice_id;
