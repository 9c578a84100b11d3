insert into ingest_cursors values ($stream, $position) on conflict (stream) do update set position = excluded.position
