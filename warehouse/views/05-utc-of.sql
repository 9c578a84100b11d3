-- An instant as the base tables keep it: in UTC, without a zone. A text without an offset, a date or a plain timestamp means
-- the session's time zone, as everywhere in SQL.
create or replace macro utc_of(instant) as cast(instant as timestamptz) at time zone 'UTC';
