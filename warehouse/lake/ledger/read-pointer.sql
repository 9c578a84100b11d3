select environment, generation from billsync.warehouse
