update loads set is_recorded = true where load_id = $load_id::integer
