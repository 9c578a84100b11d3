-- title: Which state of the warehouse is published, and how many invoices in it need a person
-- grain: the one publication
select p.*, (select count(*) from invoices where state = 'needs_attention') as needs_attention
from publication as p
