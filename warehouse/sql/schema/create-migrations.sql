create table if not exists schema_migrations (number integer not null, name varchar not null, applied_at timestamp not null)
