-- The instant at which a line came into the ledger has one name everywhere.
alter table duplicate_ledger rename column noted_at to recorded_at;
alter table details_ledger rename column noted_at to recorded_at;
alter table attention_ledger rename column noted_at to recorded_at;
alter table file_ledger rename column noted_at to recorded_at;
alter table set_aside rename column noted_at to recorded_at;
