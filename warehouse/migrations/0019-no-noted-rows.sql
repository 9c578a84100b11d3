-- Packages and months are counted from shipment_rows when a report reads them.
drop table internal.repeated_rows;
drop table internal.repeated_copies;
drop table internal.package_loads;
drop table internal.billed_months;
drop table internal.marked_rows;
