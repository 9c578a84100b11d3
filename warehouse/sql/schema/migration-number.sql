select coalesce(max(number), 0)::integer as found from schema_migrations
