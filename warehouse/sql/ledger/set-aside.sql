select place, why from set_aside order by noted_at, place
