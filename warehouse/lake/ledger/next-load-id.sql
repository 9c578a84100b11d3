select nextval('load_ids')::integer as load_id
