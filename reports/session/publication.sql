-- Which publication this file is.
select sequence, published_at from publication order by sequence desc limit 1
