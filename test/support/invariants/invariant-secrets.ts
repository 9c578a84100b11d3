/** I6: no planted secret anywhere, however it is stored. */

import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { findSecrets, listFiles } from '../hostile/find-secrets.ts';
import { askACopy } from './ask-a-copy.ts';
import { broken, type InvariantOptions, type Violation } from './violation.ts';

/** I6: data folder (what is meant to hold secrets excepted), logs, tables, histories. */
export async function checkSecrets({ dataDir, logFolder, secrets = [], client }: InvariantOptions) {
  const places = [
    ...(await listFiles(dataDir)).filter((file) => !/^(inbox\/pending|keys)\//.test(relative(dataDir, file))),
    ...(logFolder === undefined ? [] : await listFiles(logFolder)),
  ];
  const found: Violation[] = [];
  for (const place of places) {
    const bytes = await readFile(place).catch(() => Buffer.alloc(0));
    for (const secret of findSecrets(bytes, secrets)) found.push(broken('I6', `${place} holds ${secret}`));
  }
  if (secrets.length === 0) return found;
  for (const name of ['warehouse.duckdb', 'reports.duckdb']) {
    const told = await textOf(join(dataDir, name)).catch(() => '');
    for (const secret of findSecrets(Buffer.from(told), secrets))
      found.push(broken('I6', `a table of ${name} holds ${secret}`));
  }
  if (client === null) return found;
  for await (const { workflowId, runId } of client.workflow.list()) {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const secret of findSecrets(bytesOf(history), secrets)) {
      found.push(broken('I6', `the history of ${workflowId} holds ${secret}`));
    }
  }
  return found;
}

/** Every value of every table: DuckDB compresses texts, so its bytes alone say nothing. */
function textOf(path: string): Promise<string> {
  return askACopy(path, async (ask) => {
    const tables = await ask('select table_name from duckdb_tables() where not internal');
    const texts: string[] = [];
    for (const { table_name } of tables) texts.push(JSON.stringify(await ask(`from "${table_name}"`)));
    return texts.join('\n');
  });
}

/** Everything that a history says: its texts, and the bytes of its payloads as they are. */
function bytesOf(told: unknown): Buffer {
  if (told instanceof Uint8Array) return Buffer.from(told);
  if (typeof told === 'string') return Buffer.from(told);
  if (told === null || typeof told !== 'object') return Buffer.alloc(0);
  return Buffer.concat(Object.values(told).flatMap((part) => [bytesOf(part), Buffer.from('\n')]));
}
