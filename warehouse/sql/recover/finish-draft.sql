-- From here on it is a warehouse like any other.
delete from ingest_cursors where stream = 'draft'
