delete from discrepancy_lines where invoice_id = any(list($invoice_ids)::uuid[])
