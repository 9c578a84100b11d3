/** The floor as a whole process: plain JavaScript, so that no loader's start is counted, and nothing but the raw load. */

import { readFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';

const [csvPath, databasePath] = process.argv.slice(2);
const instance = await DuckDBInstance.create(databasePath, { storage_compatibility_version: 'v1.5.0' });
const connection = await instance.connect();
const text = readFileSync(new URL('./floor.sql', import.meta.url), 'utf8');
await connection.run(text.replace('CSV_PATH', csvPath));
await connection.run('checkpoint');
connection.closeSync();
instance.closeSync();
