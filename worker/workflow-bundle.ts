/** Prebuilt in a published package; in a checkout built once per content, because bundling takes seconds. */

import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { messageOf } from '../lib/system-errors.ts';
import { FAILURE_CONVERTER_PATH } from '../lib/temporal/codec.ts';
import type { Tracing } from '../lib/temporal/create-tracing.ts';
import { TemporalError } from '../lib/temporal/errors.ts';
import { cacheFolder } from '../lib/temporal/server-executable.ts';
import { activeTracing } from '../lib/temporal/tracing.ts';

export interface WorkflowBundle {
  readonly codePath: string;
}

const ROOT = join(import.meta.dirname, '..');
const SOURCES = [join(ROOT, 'workflows'), join(ROOT, 'lib/wire')];
const MAX_CACHED = 10;

export async function workflowBundle(tracing = activeTracing()): Promise<WorkflowBundle> {
  const isTraced = tracing !== null;
  const prebuilt = join(ROOT, 'workflow-bundle.js');
  if (!isTraced && existsSync(prebuilt)) return { codePath: prebuilt };
  const folder = join(cacheFolder(), 'workflows');
  const codePath = join(folder, `${await fingerprint()}${isTraced ? '-traced' : ''}.js`);
  if (!existsSync(codePath)) {
    await buildWorkflowBundle(codePath, tracing);
    await removeOldBundles(folder);
  }
  return { codePath };
}

export async function buildWorkflowBundle(codePath: string, tracing: Tracing | null = null): Promise<void> {
  // webpack treats the part of a module's path after a question mark as a query.
  if (ROOT.includes('?')) {
    const hint = 'move billsync to a folder without it';
    throw new TemporalError('workflow-bundle', ['its path contains "?"'], { subject: ROOT, hint });
  }
  try {
    await writeBundle(codePath, tracing);
  } catch (error) {
    throw new TemporalError('workflow-bundle', [messageOf(error)], { cause: error });
  }
}

async function writeBundle(codePath: string, tracing: Tracing | null): Promise<void> {
  await mkdir(dirname(codePath), { recursive: true });
  const { code } = await bundleWorkflowCode({
    workflowsPath: sourceOrBuilt(join(ROOT, 'workflows', 'index')),
    failureConverterPath: FAILURE_CONVERTER_PATH,
    workflowInterceptorModules: [sourceOrBuilt(join(ROOT, 'workflows', 'refuse-unencrypted'))],
    plugins: tracing === null ? [] : [tracing.plugin],
    logger: new DefaultLogger('WARN'),
  });
  const temporary = `${codePath}.${process.pid}.tmp`;
  await writeFile(temporary, code);
  await rename(temporary, codePath);
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256');
  const { version } = createRequire(import.meta.url)('@temporalio/workflow/package.json');
  hash.update(`${version}\n`);
  const files = [FAILURE_CONVERTER_PATH];
  for (const folder of SOURCES) {
    const names = await readdir(folder, { recursive: true });
    files.push(...names.filter((name) => /\.(ts|js)$/.test(name)).map((name) => join(folder, name)));
  }
  for (const file of files.sort()) hash.update(`${file}\n`).update(await readFile(file));
  return hash.digest('hex').slice(0, 16);
}

async function removeOldBundles(folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.js'));
  if (files.length <= MAX_CACHED) return;
  const byAge = files.sort((a, b) => statSync(join(folder, b)).mtimeMs - statSync(join(folder, a)).mtimeMs);
  await Promise.all(byAge.slice(MAX_CACHED).map((name) => rm(join(folder, name), { force: true })));
}

function sourceOrBuilt(path: string): string {
  const source = `${path}.ts`;
  return existsSync(source) ? source : `${path}.js`;
}
