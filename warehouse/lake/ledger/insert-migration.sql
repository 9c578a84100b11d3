insert into schema_migrations values ($number::integer, $name, $applied_at::timestamp)
