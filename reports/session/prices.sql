-- The charges that are counted, by cell: a carrier's service into a zone at a rated weight, in one currency and, when
-- asked, one period. Equal prices of a cell are one row with a count. Credits and lines of zero are no prices, and a line
-- without weight, zone or service is in no cell: nobody knows what it may be compared with.
create or replace temp macro prices(period, service) as table
    select
        period as start,
        carrier,
        service as service_level,
        zone,
        rated,
        currency_code,
        billing_cost,
        count(*) as shipments
    from selected_shipments
    where billing_cost > 0 and service is not null and zone is not null and billable_weight is not null
    group by all
