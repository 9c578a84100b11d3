create table floor as
select *
from read_csv('CSV_PATH', auto_detect = false, header = true, delim = ',', quote = '"', escape = '"', strict_mode = true,
    columns = {'tenant': 'VARCHAR', 'invoice_generation_date': 'DATE', 'invoice_id': 'VARCHAR', 'ship_date': 'DATE',
        'origin': 'VARCHAR', 'currency_code': 'VARCHAR', 'billing_cost': 'DECIMAL(18,4)',
        'billable_weight': 'DECIMAL(18,4)', 'billable_weight_unit': 'VARCHAR', 'tracking_number': 'VARCHAR',
        'carrier': 'VARCHAR', 'carrier_zone': 'VARCHAR', 'carrier_invoice_date': 'DATE', 'service_level': 'VARCHAR'})
