insert into ask_log select unnest(from_json($invoice_ids::json, '["UUID"]')), $asked_at::timestamp
