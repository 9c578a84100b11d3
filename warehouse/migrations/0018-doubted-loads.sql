-- What spoke against a person's file when it was loaded.
alter table internal.loads add column is_denied boolean;  -- the service had named the hash of another file: it counts only if a person chooses it; null: no
alter table internal.loads add column is_damaged boolean; -- a spreadsheet seems to have changed its cells, and the person accepted that; null: no
