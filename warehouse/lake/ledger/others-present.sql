-- Who holds a lock of a whole connection besides this one: what a person needs to find the process.
select a.application_name as name, host(a.client_addr) as client, a.pid,
    to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as since
from pg_locks as l
join pg_stat_activity as a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and a.datname = current_database()
    and l.classid = $class::integer::oid and l.objid = $key::integer::oid
    and a.pid <> pg_backend_pid()
order by a.backend_start
