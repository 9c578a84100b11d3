select count(*)::integer as discrepancies from discrepancies
