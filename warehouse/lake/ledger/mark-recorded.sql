update loads set is_told = true where load_id = $load_id::integer
