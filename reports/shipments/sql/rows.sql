-- The cells of the shipments that stand on a page, in the columns of the list.
select {{columns}}
from selected_shipments as s
where {{on_page}}
