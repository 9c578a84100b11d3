-- How many shipments the statement listed gives without a limit, which a page that is continued does not know.
select count(*) as shipments
from selected_shipments as s
where {{conditions}} and {{behind}}
