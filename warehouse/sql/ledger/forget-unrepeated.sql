-- Every load that the archive tells of is repeated, or noted as one that cannot be.
delete from ingest_cursors where stream = 'loads'
