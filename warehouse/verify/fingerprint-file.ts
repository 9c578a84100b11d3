/** What a file of the archive holds, as one number and a few sums that `verify` holds against the rows that were loaded of it. */

import { CSV_TOLERANCES, type CsvScan, isSpecified } from '../../lib/wire/csv-file.ts';
import { RECORDS_PER_CUT } from '../../lib/wire/csv-scanner.ts';
import type { Database } from '../duckdb/database.ts';
import type { Row } from '../duckdb/statements.ts';
import { numberChunks } from '../load/chunks.ts';
import { tolerate } from '../load/tolerate.ts';

export interface FileToFingerprint {
  readonly invoiceId: string;
  readonly csvPath: string;
  readonly sizeBytes: number;
  /** As the archive keeps it. */
  readonly scan: CsvScan;
  /** Of `fingerprint-rows`. */
  /** Of the load's most rows; null: it has none. */
  readonly currencyCode: string | null;
}

/** A line of `fingerprint-file`. @throws what DuckDB or the system throws */
export async function fingerprintFile(database: Database, file: FileToFingerprint): Promise<Row> {
  const { invoiceId, csvPath, scan } = file;
  const asSpecified = (): Promise<Row> => {
    const params = { currency_code: file.currencyCode, csv_path: csvPath, invoice_id: invoiceId };
    return database.use((session) => session.first('fingerprint-file', params));
  };
  const read = isSpecified(scan) ? await asSpecified() : null;
  if (read !== null && Number(read.bad_rows) === 0) return read;
  // It was loaded under a tolerance: which one, it says itself.
  return (await fingerprintTolerated(database, file)) ?? read ?? asSpecified();
}

/** null when it keeps the rules under no tolerance. */
async function fingerprintTolerated(
  database: Database,
  { invoiceId, csvPath, sizeBytes, scan, currencyCode }: FileToFingerprint,
): Promise<Row | null> {
  const file = { csvPath, invoiceId, file: { sizeBytes, scan } };
  const read = await tolerate(file, CSV_TOLERANCES, database.temporaryFolder);
  if (read === null || 'outcome' in read) return null;
  const { folder, count, discard } = read.chunks;
  try {
    return await database.use(async (session) => {
      await session.script(numberChunks(count, RECORDS_PER_CUT));
      const [found] = await session.once('fingerprint-tolerated', {
        ...{ currency_code: currencyCode, folder, chunks: count, invoice_id: invoiceId },
      });
      return found ?? null;
    });
  } finally {
    await discard();
  }
}
