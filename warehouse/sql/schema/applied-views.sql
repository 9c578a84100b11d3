select sha256 from applied_views
