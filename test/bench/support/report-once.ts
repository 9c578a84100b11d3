/** Runs one report in a process of its own and prints its time and peak memory as a JSON line. */

import { findReport } from '../../../reports/catalogue.ts';
import { openReportSession } from '../../../reports/report-session.ts';

const [databasePath = '', name = ''] = process.argv.slice(2);
// A report that lists single rows refuses to be cut off without a limit.
const listsRows = findReport(name).parameters.some((parameter) => parameter.name === 'limit');
const began = performance.now();
const session = await openReportSession({ databasePath, timeLimitMs: 300_000 });
await session.run(name, listsRows ? { limit: '100000' } : {});
session.close();
const ms = performance.now() - began;
console.log(JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024 }));
