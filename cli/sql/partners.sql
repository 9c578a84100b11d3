-- title: Whose invoices were heard of
-- grain: partner
select distinct partner_id
from invoices
where partner_id is not null
