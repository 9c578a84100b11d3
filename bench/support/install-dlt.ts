/** The peer of the load bench: dlt from PyPI at pinned versions, kept in the ignored cache of the checkout. */

import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { runMeasured } from './run-measured.js';

const PACKAGES = ['dlt[duckdb,parquet]==1.31.0', 'duckdb==1.5.5', 'pyarrow==26.0.1', 'pandas==3.1.1'];
const cache = join(import.meta.dirname, '../../.cache');
const installed = join(cache, 'dlt-1.31.0');

/** The folder of its packages (PYTHONPATH). @throws Error python3 with pip is missing, or the packages cannot be had */
export async function installDlt(): Promise<string> {
  if (existsSync(installed)) return installed;
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(join(cache, 'dlt-'));
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', draft] as const;
  try {
    await runMeasured(['python3', ...pip, ...PACKAGES]);
  } catch (error) {
    await rm(draft, { recursive: true });
    throw new Error('The peer needs python3 with pip and PyPI (dlt 1.31.0); one of them is missing.', {
      cause: error,
    });
  }
  await rename(draft, installed).catch(() => rm(draft, { recursive: true }));
  return installed;
}
