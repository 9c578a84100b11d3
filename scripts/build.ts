/**
 * Builds the published package into dist/: compiled code, the files that code reads beside itself (SQL, templates,
 * style sheets) and the prebuilt workflow bundle, so that a worker starts without bundling.
 */

import { execFileSync } from 'node:child_process';
import { cp, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const NOT_SHIPPED = /^(test|bench|scripts|conformance|docs|bin|\.[^/]+)\//;
const READ_AT_RUN_TIME = /\.(sql|eta|css|cjs|svg|html|js|json|yaml)$/;

await rm(dist, { recursive: true, force: true });
execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
});

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
}).split('\n');
for (const file of tracked) {
  if (file.includes('/') && READ_AT_RUN_TIME.test(file) && !NOT_SHIPPED.test(file)) {
    await mkdir(dirname(join(dist, file)), { recursive: true });
    await cp(join(root, file), join(dist, file));
  }
}

// Bundled from the compiled code, so that the bundle holds what is shipped and nothing else.
const { buildWorkflowBundle } = (await import(
  pathToFileURL(join(dist, 'worker/workflow-bundle.js')).href
)) as typeof import('../worker/workflow-bundle.js');
await buildWorkflowBundle(join(dist, 'workflow-bundle.js'));
process.stderr.write('built dist/\n');
