-- A line per publication for ever would be millions; the last thousand tell enough.
delete from publication_log where sequence <= (select max(sequence) from publication_log) - 1000
