delete from publication_log where sequence <= (select max(sequence) from publication_log) - 1000
