-- The time since when an invoice was void at an instant (UTC, without a zone), by a current void or by one that was undone
-- later; null: it was not void.
create or replace macro void_since(voided_at, past_voids, instant) as
case when voided_at <= instant then voided_at
    when past_voids is not null then list_max(list_transform(list_filter(
        from_json(past_voids, '[{"voided_at": "TIMESTAMP", "restored_at": "TIMESTAMP"}]'),
        lambda span: span.voided_at <= instant and span.restored_at > instant), lambda span: span.voided_at))
end;
