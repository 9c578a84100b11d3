insert into service_checks
select (jsonb_array_elements_text($invoice_ids::jsonb))::uuid, $checked_at::timestamp
on conflict (invoice_id) do update set checked_at = excluded.checked_at
