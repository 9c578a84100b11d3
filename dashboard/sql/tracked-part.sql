-- Tracking numbers that begin with some letters, for a search that found nothing else.
select tracking_number, count(*) as lines
from shipments
where starts_with(lower(tracking_number), lower($words))
group by tracking_number
order by tracking_number
limit 20
