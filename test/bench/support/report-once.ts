/** Runs one report in a process of its own and prints its time and peak memory as a JSON line. */

import { openReportSession } from '../../../reports/report-session.ts';

const [databasePath = '', name = ''] = process.argv.slice(2);
const began = performance.now();
const session = await openReportSession({ databasePath, timeLimitMs: 300_000 });
await session.run(name);
session.close();
const ms = performance.now() - began;
console.log(JSON.stringify({ ms, peakMb: process.resourceUsage().maxRSS / 1024 }));
