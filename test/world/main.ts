/** `npm run world -- --minutes N --seed S`: plays histories for so long, and stops at the first difference. */

import { parseArgs } from 'node:util';
import { playHistories } from './play/run.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Date.now() & 0x7f_ff_ff_ff) },
    path: { type: 'string' },
    reports: { type: 'string' },
  },
});
const seed = Number(values.seed);
console.log(`seed ${seed}`);
try {
  const played = await playHistories({
    ...{ seed, seconds: Number(values.minutes) * 60 },
    ...(values.path === undefined ? {} : { path: values.path }),
    ...(values.reports === undefined ? {} : { reports: values.reports.split(',') }),
  });
  console.log(`${played} histories without a difference`);
} catch (error) {
  console.log((error as Error).message);
  process.exitCode = 1;
}
