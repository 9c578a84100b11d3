-- Which generation of the warehouse counts; a rebuild makes the next one beside it and then moves this.
create table if not exists billsync.warehouse (
    only_one boolean primary key default true check (only_one),
    environment text not null,
    generation integer not null
)
