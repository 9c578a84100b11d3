/** Reads the published file, never the writer's file, so a running worker is not disturbed. */

import { join } from 'node:path';
import type { DuckDBValue } from '@duckdb/node-api';
import type { Settings } from '../lib/config/settings.ts';
import { statementIn } from '../lib/sql-file.ts';
import type { ReportRow } from '../reports/cells.ts';
import { openPublishedFile, registerConnection } from '../reports/published-file.ts';
import { readColumns, readRows } from '../reports/report-result.ts';
import { lakeSourceOf } from '../warehouse/lake/lake-source.ts';
import { checkEnvironment } from './verb.ts';

/** The file that analysts open. Over a lake, its rows are elsewhere; this connects readers of the path to them. */
export function publishedPath({ dataDir, warehouse }: Pick<Settings, 'dataDir' | 'warehouse'>): string {
  const path = join(dataDir, 'reports.duckdb');
  if (warehouse.kind === 'ducklake') {
    lakeSourceOf(path, warehouse);
    registerConnection(path, async () => {
      const { connectToLake } = await import('../warehouse/lake/lake-reader.ts');
      return connectToLake(path, warehouse);
    });
  }
  return path;
}

const STATEMENTS = new URL('./sql/published.sql', import.meta.url);

export type PublishedQuestion =
  | 'invoices-list'
  | 'invoice'
  | 'invoice-events'
  | 'invoice-files'
  | 'invoice-amounts'
  | 'invoice-discrepancies'
  | 'invoice-statements'
  | 'events-list'
  | 'event'
  | 'publication'
  | 'partners'
  | 'files-list'
  | 'tenants-list'
  | 'invoice-numbers';

export interface PublishedReader {
  /** Decimals are exact text, counts numbers, instants ISO 8601 UTC. Values are bound by name. */
  query(
    question: PublishedQuestion,
    values?: Readonly<Record<string, DuckDBValue>>,
  ): Promise<readonly ReportRow[]>;
  close(): void;
}

/** @throws ReportError (exit 3) when nothing was published yet */
export async function openPublished(settings: Settings): Promise<PublishedReader> {
  await checkEnvironment(settings);
  const file = await openPublishedFile(publishedPath(settings));
  return {
    async query(question, values) {
      const reader = await file.query(statementIn(STATEMENTS, question), values);
      return readRows(reader, readColumns(reader, { units: {}, details: [] }));
    },
    close: () => file.close(),
  };
}
