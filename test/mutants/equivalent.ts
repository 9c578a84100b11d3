/** Faults that no test can notice, with the reason. `npm run mutants` does not draw them. */

export interface Equivalent {
  readonly file: string;
  /** Part of the line. */
  readonly code: string;
  readonly kind: string;
  readonly why: string;
}

export const EQUIVALENT: readonly Equivalent[] = [
  {
    ...{ file: 'archive/folder-events.ts', code: 'const READ_AHEAD', kind: 'changed constant' },
    why: 'How many events are read at once changes no event.',
  },
  {
    ...{ file: 'archive/s3/log.ts', code: 'lastMs + 1', kind: 'changed constant' },
    why: 'Any later instant keeps the order of one writer.',
  },
  {
    ...{ file: 'archive/s3/log.ts', code: 'const MAX_LATE_MS', kind: 'changed constant' },
    why: 'Three minutes are still within the overlap of five that readers list again.',
  },
  {
    ...{ file: 'workflows/client/backfill-client.ts', code: 'Date.now() > until', kind: 'limit by one' },
    why: 'A query a second apart does not end in one millisecond.',
  },
  {
    ...{ file: 'webhook/forwarder.ts', code: '< timing.partnerGraceMs', kind: 'limit by one' },
    why: 'A delivery waits a millisecond longer.',
  },
  {
    ...{ file: 'warehouse/sql/ledger.sql', code: 'when age <= 7 * 86400', kind: 'limit by one' },
    why: 'At seven days to the second, seven periods of a day and one of a week end alike.',
  },
  {
    ...{ file: 'warehouse/ledger/ingest.ts', code: 'batch.length > 0', kind: 'limit by one' },
    why: 'An empty batch changes nothing.',
  },
  {
    ...{ file: 'warehouse/load/load-files.ts', code: 'records > recordsPerCut', kind: 'limit by one' },
    why: 'A file of exactly one chunk has the same rows in one pass and in chunks.',
  },
  {
    ...{ file: 'archive/folder-facts.ts', code: 'const CHUNK_BYTES', kind: 'changed constant' },
    why: 'How many bytes are read at once changes no fact.',
  },
  {
    ...{ file: 'activities/service-calls.ts', code: 'MAX_LOADED_AT_ONCE_BYTES =', kind: 'changed constant' },
    why: 'A file between the two sizes is loaded by the next activity instead, with the same result.',
  },
  {
    ...{ file: 'webhook/forwarder.ts', code: 'ageSeconds > ', kind: 'limit by one' },
    why: 'An age in fractions of a second does not meet the limit.',
  },
  {
    ...{ file: 'webhook/connections.ts', code: 'resetting >= total', kind: 'limit by one' },
    why: 'One refused connection more or less is reset a second later.',
  },
  {
    ...{ file: 'billing/http.ts', code: 'untilMs <= nowMs', kind: 'limit by one' },
    why: 'A pause that is over is not applied, whether it is forgotten or not.',
  },
  ...['negated condition', 'limit by one'].map((kind) => ({
    ...{ file: 'billing/receive-file.ts', code: 'blockBytes >= BLOCK_BYTES', kind },
    why: 'Smaller or larger blocks have the same bytes.',
  })),
  {
    ...{ file: 'warehouse/load/commit-load.ts', code: 'const brought = loads.filter', kind: 'step left out' },
    why: 'Signs of a spreadsheet are used for files of an operator alone; others cost time.',
  },
  {
    ...{
      file: 'warehouse/views/25-tenants.sql',
      code: 'n.key is not distinct from b.key',
      kind: 'null as equal',
    },
    why: 'Keys are lists, and DuckDB compares nulls within lists as equal.',
  },
  {
    ...{ file: 'warehouse/views/10-loads-as-known-on.sql', code: 'union all', kind: 'other join' },
    why: 'No two spans of an invoice are alike.',
  },
  {
    ...{ file: 'warehouse/load/accept-rows.ts', code: 'String(a.currency_code) <', kind: 'limit by one' },
    why: 'No two rows of the totals have one currency.',
  },
];
