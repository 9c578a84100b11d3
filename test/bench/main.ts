/** Measures: `npm run bench -- NAME`. Each bench prints ratios to a floor or a peer of the same run. */

import { fileURLToPath } from 'node:url';
import { runOneOf } from '../../scripts/run-one-of.ts';

await runOneOf(fileURLToPath(new URL('.', import.meta.url)), process.argv.slice(2));
