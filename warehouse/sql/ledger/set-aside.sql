select place, why from set_aside order by recorded_at, place
