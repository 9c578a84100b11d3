/** The long run of the two readers: generated files through DuckDB and through csv-parse alone. */

import { compareReaders } from '../warehouse/load/two-readers.ts';

export const summary =
  'DuckDB against csv-parse on generated files [files] [seed]: the same verdict and cells';

const FILES_PER_ROUND = 1_000;

export async function main([files = '20000', seed = '1']: readonly string[]): Promise<void> {
  const tally = { files: 0, good: 0, refused: 0, disagreements: 0 };
  for (let round = 0; tally.files < Number(files); round += 1) {
    const count = Math.min(FILES_PER_ROUND, Number(files) - tally.files);
    const result = await compareReaders({ files: count, seed: Number(seed) + round });
    tally.files += result.files;
    tally.good += result.good;
    tally.refused += result.refused;
    tally.disagreements += result.disagreements.length;
    for (const { why, bytes } of result.disagreements.slice(0, 5)) {
      process.stderr.write(`${why}: ${JSON.stringify(bytes.toString('latin1'))}\n`);
    }
    process.stderr.write(`${tally.files} of ${files} files\n`);
  }
  process.stdout.write(`${JSON.stringify(tally, null, 2)}\n`);
  if (tally.disagreements > 0) throw new Error('the readers disagree');
}
