update ingest_cursors set position = $position where stream = $stream returning stream
