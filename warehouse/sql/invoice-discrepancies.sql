select rule, stated, found from discrepancies where invoice_id = $invoice_id::uuid order by rule, stated, found
