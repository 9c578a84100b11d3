select stream, position from ingest_cursors
