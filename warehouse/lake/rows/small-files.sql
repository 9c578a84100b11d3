-- Files worth merging with their neighbours.
select count(*)::integer as files
from ducklake_list_files('lake', 'shipment_rows')
where data_file_size_bytes < 16777216
