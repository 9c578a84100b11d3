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
];
