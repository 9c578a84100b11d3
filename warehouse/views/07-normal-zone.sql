-- "Zone 5", "ZONE-05" and " 05 " are zone 5; other texts keep their words in upper case. Without CASE DuckDB
-- computes it once for each spelling of a block.
create or replace macro normal_zone(zone) as
    upper(
        regexp_replace(
            regexp_replace(trim(zone), '^(?:zone)?[\s_#:.-]*0*([1-9][0-9]*|0)$', '\1', 'i'),
            '^zone[\s_#:.-]+([^\s_#:.-].*)$', '\1', 'is'
        )
    );
