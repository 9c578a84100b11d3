import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const NOT_SHIPPED = /^(test|scripts|sandbox\/conformance|docs|bin|deploy|\.[^/]+)\//;
/** Commands and pages print its sections. */
const RUNBOOK = 'docs/reference/runbook.md';
const READ_AT_RUN_TIME = /\.(sql|eta|css|cjs|svg|html|js|json|yaml)$/;

export function shippedFiles(): readonly string[] {
  const listed = existsSync(join(root, '.git')) ? filesOfCheckout() : filesWithoutGit();
  return listed.filter((file) => file.includes('/') && !NOT_SHIPPED.test(file));
}

function filesOfCheckout(): readonly string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  // A deleted file is listed until its deletion is staged.
  return listed.filter((file) => existsSync(join(root, file)));
}

/** In the build of an image there is no git; `.containerignore` excludes the ignored files. */
function filesWithoutGit(): readonly string[] {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^(node_modules|dist|\..*)$/.test(entry.name))
    .flatMap(({ name }) => readdirSync(join(root, name), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

export async function buildPackage(
  dist: string,
  { project = 'tsconfig.build.json', options = [] as readonly string[] } = {},
): Promise<void> {
  const compile = ['-p', join(root, project), '--outDir', dist, ...options];
  execFileSync(join(root, 'node_modules/.bin/tsc'), compile, { stdio: 'inherit' });
  for (const file of [...shippedFiles().filter((name) => READ_AT_RUN_TIME.test(name)), RUNBOOK]) {
    await mkdir(dirname(join(dist, file)), { recursive: true });
    await cp(join(root, file), join(dist, file));
  }
  const { buildWorkflowBundle } = (await import(
    pathToFileURL(join(dist, 'worker/workflow-bundle.js')).href
  )) as typeof import('../worker/workflow-bundle.ts');
  await buildWorkflowBundle(join(dist, 'workflow-bundle.js'));
}
