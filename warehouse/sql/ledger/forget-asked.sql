delete from ask_log where invoice_id in (select unnest(from_json($invoice_ids::json, '["UUID"]')))
