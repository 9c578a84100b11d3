delete from applied_views
