insert into ask_log
select (jsonb_array_elements_text($invoice_ids::jsonb))::uuid, $asked_at::timestamp
on conflict (invoice_id) do update set asked_at = excluded.asked_at
