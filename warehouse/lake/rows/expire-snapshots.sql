-- The catalogue forgets how the lake looked before; files that only those looks used may then go.
select count(*)::integer as expired from ducklake_expire_snapshots('lake', older_than => $older_than::timestamptz)
