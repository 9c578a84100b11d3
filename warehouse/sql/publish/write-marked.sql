insert into marked_rows by name
select unnest(from_json($files::json,
    '[{"place": "INTEGER", "name": "VARCHAR", "entries": "BIGINT", "loads": "BIGINT"}]'), recursive := true), version() as made_by
