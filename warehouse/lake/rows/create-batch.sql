-- Rows of small invoices that go into the lake together: what a commit and a file cost is paid once for all of them.
create or replace temp table batched_shipments as from lake.main.shipment_rows limit 0
