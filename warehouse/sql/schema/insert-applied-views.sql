insert into applied_views values ($sha256, $applied_at::timestamp)
