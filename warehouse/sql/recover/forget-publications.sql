-- What an interrupted rebuild was told of the last publication; there may have been another since.
delete from publication_log
