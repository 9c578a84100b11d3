-- The UTC time of an instant, without a zone, as in the base tables. Text without an offset, a date or a plain timestamp
-- is in the session's time zone, as everywhere in SQL.
create or replace macro utc_of(instant) as cast(instant as timestamptz) at time zone 'UTC';
