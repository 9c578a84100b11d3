-- Every file of which the draft has rows.
select distinct file_sha256 from loads
