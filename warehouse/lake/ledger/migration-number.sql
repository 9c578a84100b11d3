select coalesce(max(number), 0) as found from schema_migrations
