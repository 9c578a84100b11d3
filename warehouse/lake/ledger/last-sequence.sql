select coalesce(max(sequence), 0) as sequence from publication_log
