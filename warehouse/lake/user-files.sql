-- Each statement names its environment, because test and production never share a file.

-- name: lock-creation
-- Two sessions that create the schema at once would both try, and one would fail.
select pg_advisory_xact_lock(8153, 0)

-- name: create-schema
create schema if not exists billsync

-- name: create-table
create table if not exists billsync.user_files (
    environment text not null,
    path text not null,
    version bigint not null,
    content bytea not null,
    changed_at timestamptz not null default now(),
    primary key (environment, path)
)

-- name: read
select version, content from billsync.user_files where environment = $1 and path = $2

-- name: list
select path from billsync.user_files where environment = $1 and starts_with(path, $2) order by path collate "C"

-- name: insert
insert into billsync.user_files (environment, path, version, content) values ($1, $2, 1, $3) on conflict do nothing

-- name: replace
update billsync.user_files set content = $3, version = version + 1, changed_at = now()
where environment = $1 and path = $2 and version = $4

-- name: append
update billsync.user_files set content = content || $3, version = version + 1, changed_at = now()
where environment = $1 and path = $2 and version = $4

-- name: remove
delete from billsync.user_files where environment = $1 and path = $2
