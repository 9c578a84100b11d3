/** Any file gives the same verdict through DuckDB and through csv-parse alone; the long run is a chaos program. */

import { expect, test } from 'vitest';
import { useAllThreads } from '../../support/processes/one-duckdb-thread.ts';
import { compareReaders } from './two-readers.ts';

useAllThreads();

test('both readers agree on 400 generated files', async () => {
  const { files, good, refused, disagreements } = await compareReaders({ files: 400, seed: 20_260_301 });
  const lines = disagreements.map(({ why, bytes }) => `${why}: ${JSON.stringify(bytes.toString('latin1'))}`);
  expect(lines).toEqual([]);
  expect(files).toBe(400);
  // A generator of one kind only would prove nothing.
  expect(Math.min(good, refused)).toBeGreaterThan(40);
});
