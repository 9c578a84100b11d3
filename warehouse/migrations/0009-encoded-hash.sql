-- Some services announce the hash of a file as HTTP encodes it; the archive has the file itself, under its own hash.
alter table loads add column if not exists encoded_sha256 varchar; -- the announced hash where it was that of the encoded bytes; else null
