-- Files that a writer left which ended before it could tell the catalogue of them.
select count(*)::integer as removed from ducklake_delete_orphaned_files('lake', older_than => $older_than::timestamptz)
