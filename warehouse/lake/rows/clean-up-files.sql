-- Files that no look of the lake uses, and that nobody still reads.
select count(*)::integer as removed from ducklake_cleanup_old_files('lake', older_than => $older_than::timestamptz)
