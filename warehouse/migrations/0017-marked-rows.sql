-- The files beside the warehouse that tell where a tracking number stands (ADR 50), the oldest first; a folder without one of them
-- is not believed.
create table internal.marked_rows (
    place integer not null,                 -- 0, 1, …
    name varchar not null,
    entries bigint not null,                -- one for each row
    loads bigint not null,                  -- so many, behind those of the files before it, as they lie in their table
    made_by varchar not null                -- the version of DuckDB, whose hash() the marks are
);
