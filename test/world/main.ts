/** `npm run world -- --minutes N --seed S [--lake]`: plays histories for so long, and stops at the first difference. */

import { parseArgs } from 'node:util';
import { startLakeServer } from '../warehouse/lake/support.ts';
import { playHistories } from './play/run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() & 0x7f_ff_ff_ff) },
    path: { type: 'string' },
    reports: { type: 'string' },
    lake: { type: 'boolean' },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
const lakes = values.lake === true ? await startLakeServer() : null;
try {
  const played = await playHistories({
    ...{ seed, seconds: Number(values.minutes) * 60 },
    ...(lakes === null ? {} : { lakes }),
    ...(values.path === undefined ? {} : { path: values.path }),
    ...(values.reports === undefined ? {} : { reports: values.reports.split(',') }),
  });
  console.log(`${played} histories without a difference`);
} catch (error) {
  console.log((error as Error).message);
  process.exitCode = 1;
} finally {
  await lakes?.stop();
}
