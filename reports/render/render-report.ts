/** One result, any form: the single place where a report's format is chosen, so that no two forms can differ. */

import type { ReportResult } from '../report-result.js';
import { renderAbout } from './about-text.js';
import { renderCsv } from './csv-text.js';
import { renderJson, renderNdjson } from './json-text.js';
import { renderTable, type TableOptions } from './table-text.js';

export const REPORT_FORMATS = ['table', 'json', 'ndjson', 'csv', 'parquet', 'xlsx', 'html', 'about'] as const;
/** `about` is the head of the forms that have none: what was asked, of which publication, how much of it is proved. */
export type ReportFormat = (typeof REPORT_FORMATS)[number];

export interface RenderedReport {
  readonly body: string | Uint8Array;
  readonly contentType: string;
  /** Without a dot. */
  readonly extension: string;
  /** true: bytes that do not belong on a terminal. */
  readonly isBinary: boolean;
}

/** The heavy forms are imported when they are asked for, so that a table is there at once. */
export async function renderReport(
  result: ReportResult,
  format: ReportFormat,
  options: TableOptions = {},
): Promise<RenderedReport> {
  switch (format) {
    case 'table':
      return text(renderTable(result, options), 'text/plain; charset=utf-8', 'txt');
    case 'json':
      return text(renderJson(result), 'application/json', 'json');
    case 'ndjson':
      return text(renderNdjson(result), 'application/x-ndjson', 'ndjson');
    case 'csv':
      return text(renderCsv(result), 'text/csv; charset=utf-8; header=present', 'csv');
    case 'about':
      return text(renderAbout(result), 'application/json', 'about.json');
    case 'parquet': {
      const { renderParquet } = await import('./parquet-file.js');
      return bytes(await renderParquet(result), 'application/vnd.apache.parquet', 'parquet');
    }
    case 'xlsx': {
      const { renderXlsx } = await import('./xlsx-file.js');
      const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
      return bytes(await renderXlsx(result), type, 'xlsx');
    }
    case 'html': {
      const { renderHtml } = await import('./html-page.js');
      return text(renderHtml(result), 'text/html; charset=utf-8', 'html');
    }
  }
}

function text(body: string, contentType: string, extension: string): RenderedReport {
  return { body, contentType, extension, isBinary: false };
}

function bytes(body: Uint8Array, contentType: string, extension: string): RenderedReport {
  return { body, contentType, extension, isBinary: true };
}
