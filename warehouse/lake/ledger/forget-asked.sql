delete from ask_log where invoice_id in (select (jsonb_array_elements_text($invoice_ids::jsonb))::uuid)
