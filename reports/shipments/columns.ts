import { didYouMean } from '../../lib/config/did-you-mean.ts';
import { invalidFilter } from '../errors.ts';

const TYPES = {
  tenant: 'varchar',
  invoice_number: 'varchar',
  ship_date: 'date',
  carrier: 'varchar',
  service_level: 'varchar',
  carrier_zone: 'varchar',
  origin: 'varchar',
  tracking_number: 'varchar',
  currency_code: 'varchar',
  billing_cost: 'decimal(18, 4)',
  billable_weight: 'decimal(18, 4)',
  billable_weight_unit: 'varchar',
  zone: 'varchar',
  invoice_generation_date: 'date',
  carrier_invoice_date: 'date',
  invoice_level: 'varchar',
  invoice_id: 'uuid',
  row_number: 'bigint',
  tenant_id: 'varchar',
  partner_tenant_id: 'varchar',
  file_sha256: 'varchar',
  loaded_at: 'timestamptz',
  partner_id: 'varchar',
} as const;

export type ShipmentColumn = keyof typeof TYPES;

export const SHIPMENT_COLUMNS = Object.keys(TYPES) as readonly ShipmentColumn[];
export const DEFAULT_COLUMNS = SHIPMENT_COLUMNS.slice(0, SHIPMENT_COLUMNS.indexOf('zone'));

export interface ShipmentSort {
  readonly column: ShipmentColumn;
  readonly type: string;
  readonly isDescending: boolean;
}

export const DEFAULT_SORT = '-ship_date';

export function checkColumns(names: readonly string[]): readonly ShipmentColumn[] {
  const given = names.flatMap((name) => name.split(',')).map((name) => name.trim());
  const chosen = new Set(given.filter((name) => name !== '').map((name) => columnOf('columns', name)));
  return chosen.size === 0 ? SHIPMENT_COLUMNS : SHIPMENT_COLUMNS.filter((name) => chosen.has(name));
}

/** `-ship_date`: largest first. @throws ReportError */
export function checkSort(text: string): ShipmentSort {
  const isDescending = text.startsWith('-');
  const column = columnOf('sort', isDescending ? text.slice(1) : text);
  return { column, type: TYPES[column], isDescending };
}

function columnOf(filter: string, name: string): ShipmentColumn {
  const found = SHIPMENT_COLUMNS.find((known) => known === name);
  if (found) return found;
  const hint = didYouMean(name, SHIPMENT_COLUMNS) || ` Use ${SHIPMENT_COLUMNS.join(', ')}.`;
  throw invalidFilter(`Shipments have no column "${name}" for ${filter}.${hint}`);
}
