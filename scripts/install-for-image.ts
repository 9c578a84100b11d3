import { cp, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { version as duckdbVersion } from '@duckdb/node-api';
import { temporalExecutable } from '../lib/temporal/server-executable.ts';
import { installDuckDbExtensions } from '../test/support/tools/duckdb-extensions.ts';

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('Usage: scripts/install-for-image.ts FOLDER');
const into = resolve(folder);

const extensions = join(into, 'duckdb-extensions', duckdbVersion());
await mkdir(extensions, { recursive: true });
await cp(await installDuckDbExtensions(), extensions, { recursive: true });

const onProgress = (line: string): boolean => process.stderr.write(`${line}\n`);
await temporalExecutable({ cacheDir: into, path: '', onProgress });
