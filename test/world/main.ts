/**
 * `npm run world -- --minutes N --seed S [--lake]`: plays histories for so long, and stops at the first difference; `--base`: the rich
 * history, with the filters whose turn it is.
 */

import { parseArgs } from 'node:util';
import { startLakeServer } from '../warehouse/lake/support.ts';
import { playBase, playHistories, RICH_SEED } from './play/run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() & 0x7f_ff_ff_ff) },
    path: { type: 'string' },
    reports: { type: 'string' },
    lake: { type: 'boolean' },
    base: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
const lakes = values.lake === true ? await startLakeServer() : null;
try {
  const reports = values.reports?.split(',');
  if (values.base) await playBase(RICH_SEED, seed, reports);
  const played = values.base
    ? 1
    : await playHistories({
        ...{ seed, seconds: Number(values.minutes) * 60 },
        ...(lakes === null ? {} : { lakes }),
        ...(values.path === undefined ? {} : { path: values.path }),
        ...(reports === undefined ? {} : { reports }),
      });
  console.log(`${played} histories without a difference`);
} catch (error) {
  console.log((error as Error).message);
  process.exitCode = 1;
} finally {
  await lakes?.stop();
}
