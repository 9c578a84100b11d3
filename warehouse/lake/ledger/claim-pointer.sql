insert into billsync.warehouse (environment, generation) values ($environment, 1) on conflict do nothing
