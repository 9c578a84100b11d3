-- A line is named by its invoice and its number there.
select invoice_id, row_number
from {{ ref('stg_billsync__shipments') }}
group by invoice_id, row_number
having count(*) > 1
