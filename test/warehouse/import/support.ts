import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Imported, ImportRequest } from '../../../lib/warehouse-requests.ts';
import { type ImportDeps, importFile } from '../../../warehouse/import/import-files.ts';
import { openQuarantine } from '../../../webhook/inbox/quarantine.ts';
import type { TestWarehouse } from '../support.ts';

export async function importDeps({ warehouse, archive, dataDir }: TestWarehouse): Promise<ImportDeps> {
  const quarantine = await openQuarantine(join(dataDir, 'inbox', 'quarantine'));
  return { warehouse, archive, quarantine, dataDir, now: () => new Date() };
}

/** Imports the bytes as an operator's file, with an invoice id from its rows. */
export async function importCsv(
  test: TestWarehouse,
  bytes: Buffer,
  { lookUp, ...request }: Pick<ImportDeps, 'lookUp'> & Partial<ImportRequest> = {},
): Promise<Imported> {
  const path = join(test.dataDir, 'march invoice.csv');
  writeFileSync(path, bytes);
  const deps = { ...(await importDeps(test)), ...(lookUp === undefined ? {} : { lookUp }) };
  return importFile(deps, { path, invoiceId: null, ...request });
}
