-- title: Every file that was had, for whichever invoice
-- grain: file and invoice
select file_sha256, invoice_id, file_size_bytes, file_source, version, loaded_at, is_current
from files
order by invoice_id, first_had_at, file_sha256
