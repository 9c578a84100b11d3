-- The last publication of the warehouse that this one replaces; its contents are not ours to tell.
insert into publication_log values ($sequence::integer, $published_at::timestamp, 0, 0, 0, 0, null, null)
