/**
 * Loads the extensions of DuckDB that a lake needs: where the user has them, else from our cache, else installed by
 * DuckDB's own way. They are signed by DuckDB's makers and fit one version of it; that is why node-api is pinned.
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import { userCache } from '../../lib/runtime.ts';
import { WarehouseError } from '../errors.ts';
import { quoted, type RunStatement } from './run-statement.ts';

export type ExtensionName = 'ducklake' | 'postgres_scanner' | 'httpfs';

/** What a lake needs; `httpfs` only for data in a bucket. */
export function extensionsFor(dataPath: string): readonly ExtensionName[] {
  return dataPath.startsWith('s3://')
    ? ['ducklake', 'postgres_scanner', 'httpfs']
    : ['ducklake', 'postgres_scanner'];
}

/** Where set-up puts what it fetched: `.cache/` of a checkout, else the user's cache folder. */
export function extensionCache(version: string): string {
  const root = join(import.meta.dirname, '..', '..');
  const cache = existsSync(join(root, 'tsconfig.json')) ? join(root, '.cache') : userCache();
  return join(cache, 'duckdb-extensions', version);
}

/** @throws extension-missing with what was tried */
export async function loadExtensions(run: RunStatement, names: readonly ExtensionName[]): Promise<void> {
  for (const name of names) await loadOne(run, name);
}

async function loadOne(run: RunStatement, name: ExtensionName): Promise<void> {
  const version = duckdbVersion();
  const cached = join(extensionCache(version), `${name}.duckdb_extension`);
  const steps: readonly { readonly where: string; readonly climb: () => Promise<unknown> }[] = [
    { where: "DuckDB's own folder", climb: () => run(`load ${name}`) },
    { where: `${cached}`, climb: () => loadFile(run, cached) },
    { where: 'extensions.duckdb.org', climb: () => install(run, name) },
  ];
  const attempts: string[] = [];
  for (const { where, climb } of steps) {
    try {
      await climb();
      return;
    } catch (error) {
      attempts.push(`${where}: ${firstLine(error)}`);
    }
  }
  throw new WarehouseError('extension-missing', [name, version, attempts.join('; ')]);
}

async function loadFile(run: RunStatement, path: string): Promise<unknown> {
  if (!existsSync(path)) throw new Error('not there');
  return run(`load ${quoted(path)}`);
}

async function install(run: RunStatement, name: ExtensionName): Promise<unknown> {
  await run(`install ${name}`);
  return run(`load ${name}`);
}

/** DuckDB explains at length; its first sentence says what happened. */
function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0] ?? '';
}
