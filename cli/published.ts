/** Commands read the published copy and never the writer's file, so that a running worker is not disturbed. */

import { join } from 'node:path';
import type { Settings } from '../lib/config/settings.ts';
import { isReportError, ReportError } from '../reports/errors.ts';
import { type RunStatement, statementsOn } from '../reports/invoices/invoice-questions.ts';
import { openPublishedFile, registerConnection } from '../reports/open-published-file.ts';
import { lakeSourceOf } from '../warehouse/lake/lake-source.ts';

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

export interface PublishedReader {
  readonly query: RunStatement;
  close(): void;
}

export async function requirePublished(settings: Settings): Promise<string> {
  const { isPublished } = await import('../warehouse/lake/lake-source.ts');
  const path = publishedPath(settings);
  if (await isPublished(path)) return path;
  throw new ReportError('not-published', [path]);
}

export async function withPublished<T>(
  settings: Settings,
  work: (published: PublishedReader) => Promise<T>,
): Promise<T> {
  const published = await openPublished(settings);
  try {
    return await work(published);
  } finally {
    published.close();
  }
}

export async function withPublishedIfAny<T>(
  settings: Settings,
  work: (published: PublishedReader) => Promise<T>,
): Promise<T | null> {
  return withPublished(settings, work).catch((error: unknown) => {
    if (isReportError(error, 'not-published')) return null;
    throw error;
  });
}

async function openPublished(settings: Settings): Promise<PublishedReader> {
  const file = await openPublishedFile(publishedPath(settings));
  return {
    query: statementsOn(file, STATEMENTS),
    close: () => file.close(),
  };
}
