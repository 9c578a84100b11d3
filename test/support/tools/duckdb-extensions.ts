/**
 * Fetches DuckDB's extensions for a lake where its own server cannot be reached: signed files, repackaged as Python
 * wheels, hence pinned by hash. They go into the ignored cache of the checkout, where billsync looks for them too.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { version as duckdbVersion } from '@duckdb/node-api';
import { type ExtensionName, extensionCache } from '../../../warehouse/lake/attach-lake.ts';

const VERSION = '1.5.5';

/** SHA-256 of the wheels for linux x86_64, linux aarch64 and macOS arm64. */
const WHEELS: Readonly<Record<ExtensionName, readonly string[]>> = {
  ducklake: [
    'b631ae4dd4bd649b3db35a789dbcc859476fe231ef449b3f03f4fe4e2ef4a946',
    'cd8280d3a20c744f7e113137a17a053f751b9cc469a9b694c43e1b8539fd30af',
    'd6a65e39a38bd03270ed54715f5c16f6695954742b74c0c77ed1cfc0eda33f67',
  ],
  postgres_scanner: [
    'fea9413d1b5bded7ead650aff91b3d7578c5149d832f666100b362f64404bf18',
    '5b50d53ecb192fca381c79ebd70da43b98fefe28a5781162081777f65efc8268',
    '053b9ee8abf30f1880a244c9396323273ec99cf4d72a658e702cf536848b7e5c',
  ],
  httpfs: [
    '84913dbe172ccb54368de2c4a020c38ca8b0e76f99df548f7fac37934cc7826f',
    '567d17e398fc29f7ea4bc42ea277ea19643bd1ad1815f676cb6dd994b50399bb',
    'a6d9b245ac83834543354e826020b35b8dba16291bb876b2b00bd49f2c6aeb9d',
  ],
};

/** The folder they lie in; the first call on a machine downloads them. @throws Error with what is missing */
export async function installDuckDbExtensions(): Promise<string> {
  if (duckdbVersion() !== `v${VERSION}`) {
    throw new Error(
      `The pinned extensions are for DuckDB ${VERSION}, this is ${duckdbVersion()}: pin those of its version.`,
    );
  }
  const folder = extensionCache(duckdbVersion());
  const names = Object.keys(WHEELS) as ExtensionName[];
  const missing = names.filter((name) => !existsSync(extensionFile(folder, name)));
  if (missing.length === 0) return folder;
  await mkdir(folder, { recursive: true });
  const draft = await mkdtemp(join(dirname(folder), 'fetch-'));
  try {
    await installWheels(draft, missing);
    for (const name of missing) {
      const from = join(
        draft,
        'wheels',
        `duckdb_extension_${name}`,
        'extensions',
        `v${VERSION}`,
        `${name}.duckdb_extension`,
      );
      const copy = join(draft, name);
      await copyFile(from, copy);
      // Renamed into place, so that a set-up beside this one never loads half a file.
      await rename(copy, extensionFile(folder, name));
    }
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return folder;
}

function extensionFile(folder: string, name: ExtensionName): string {
  return join(folder, `${name}.duckdb_extension`);
}

async function installWheels(draft: string, names: readonly ExtensionName[]): Promise<void> {
  const requirements = join(draft, 'requirements.txt');
  const lines = names.map((name) => {
    const hashes = WHEELS[name].map((hash) => ` --hash=sha256:${hash}`).join('');
    return `duckdb-extension-${name.replaceAll('_', '-')}==${VERSION}${hashes}`;
  });
  await writeFile(requirements, `${lines.join('\n')}\n`);
  const quiet = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps'];
  const pinned = ['--only-binary', ':all:', '--require-hashes', '--requirement', requirements];
  try {
    await promisify(execFile)('python3', [...quiet, ...pinned, '--target', join(draft, 'wheels')]);
  } catch (error) {
    throw new Error(
      `DuckDB's extensions for tests of the lake (${names.join(', ')} ${VERSION}) need python3 with pip and PyPI; one of them is missing.`,
      { cause: error },
    );
  }
}
