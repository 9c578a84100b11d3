/**
 * With TEST_REACH=FOLDER, each test file leaves the names of the product's functions that it called, in its process and in those
 * that it started (`npm run mutants` runs only the tests that reach a fault). Without it, nothing is recorded.
 */

import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector/promises';
import { join, relative } from 'node:path';
import { afterAll, expect } from 'vitest';

const ROOT = join(import.meta.dirname, '../../..');
const folder = process.env.TEST_REACH;

if (folder !== undefined) await record(folder);

async function record(into: string): Promise<void> {
  const testFile = relative(ROOT, expect.getState().testPath ?? '');
  const name = createHash('sha256').update(testFile).digest('hex').slice(0, 16);
  const ofChildren = join(into, `${name}-children`);
  mkdirSync(ofChildren, { recursive: true });
  // Some tests start programs under another user.
  chmodSync(ofChildren, 0o777);
  process.env.NODE_V8_COVERAGE = ofChildren;
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  afterAll(async () => {
    delete process.env.NODE_V8_COVERAGE;
    const { result } = await session.post('Profiler.takePreciseCoverage');
    session.disconnect();
    const reports = readdirSync(ofChildren).map((file) => readFileSync(join(ofChildren, file), 'utf8'));
    const children = reports.flatMap((text) => (JSON.parse(text) as { result: typeof result }).result);
    rmSync(ofChildren, { recursive: true });
    const functions = calledFunctions([...result, ...children]);
    writeFileSync(join(into, `${name}.json`), JSON.stringify({ testFile, functions }));
  });
}

/** As `FILE#FUNCTION`; the module itself and functions without a name have no name. */
function calledFunctions(scripts: readonly Profiler.ScriptCoverage[]): readonly string[] {
  const called = new Set<string>();
  for (const { url, functions } of scripts) {
    const file = productFile(url);
    if (file === null) continue;
    for (const { functionName, ranges } of functions)
      if (ranges.some(({ count }) => count > 0)) called.add(`${file}#${functionName}`);
  }
  return [...called];
}

function productFile(url: string): string | null {
  const path = decodeURIComponent(url.replace(/^file:\/\//, '')).replace(/\?.*$/, '');
  if (!path.startsWith(ROOT) || path.includes('/node_modules/')) return null;
  const file = relative(ROOT, path)
    .replace(/^\.cache\/builds\/[^/]+\/dist\//, '')
    .replace(/\.js$/, '.ts');
  return file.startsWith('test/') || file.startsWith('.') ? null : file;
}
