create schema if not exists billsync
