-- Every connection begins with this. Temporary, so that the published file carries none of it.

create or replace temp macro iso(instant) as strftime(instant, '%Y-%m-%dT%H:%M:%S.%gZ');
