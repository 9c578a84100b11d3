select coalesce(max(version), 0)::integer + 1 as version from loads where invoice_id = $invoice_id::uuid
