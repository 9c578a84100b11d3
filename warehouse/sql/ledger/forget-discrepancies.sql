delete from discrepancy_lines where invoice_id in (select unnest($invoice_ids::uuid[]))
