/** Builds the workflow bundle that a published package brings along: `node --import tsx scripts/build-workflow-bundle.ts dist/workflow-bundle.js`. */

import { resolve } from 'node:path';
import { buildWorkflowBundle } from '../worker/workflow-bundle.js';

const [target = 'dist/workflow-bundle.js'] = process.argv.slice(2);
await buildWorkflowBundle(resolve(target));
process.stderr.write(`${target}\n`);
