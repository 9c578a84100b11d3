-- The holders of locks for which connections of this process have waited longer than $seconds.
select h.application_name as name, host(h.client_addr) as client, h.pid,
    to_char(h.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
from pg_stat_activity as h
where h.pid in (
    select unnest(pg_blocking_pids(w.pid))
    from pg_stat_activity as w
    where w.application_name = $name and w.wait_event_type = 'Lock'
        and w.query_start < now() - make_interval(secs => $seconds::double precision)
)
and h.application_name <> $name
order by h.backend_start
