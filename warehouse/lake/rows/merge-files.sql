-- Small neighbouring files become large ones.
select coalesce(sum(files_processed), 0)::integer as merged from ducklake_merge_adjacent_files('lake')
