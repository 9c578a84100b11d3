update billsync.warehouse set generation = $generation::integer
