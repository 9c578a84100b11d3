/** Proof by fault injection: `npm run chaos -- NAME`. Each program prints its result and fails when a promise was broken. */

import { fileURLToPath } from 'node:url';
import { runOneOf } from '../../scripts/run-one-of.ts';

await runOneOf(fileURLToPath(new URL('.', import.meta.url)), process.argv.slice(2));
