-- The first position of a stream; from then on it is moved.
insert into ingest_cursors values ($stream, $position)
