/**
 * Evidence's connector for DuckDB, which is what its `npm run sources` reads files with. The site that it builds of the
 * answer is not needed for knowing whether it can read what we publish.
 */

import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { keepNodeTool } from './kept-tools.ts';

/** Brings the DuckDB of its own, 1.4.2. */
const CONNECTOR = {
  name: 'evidence-duckdb-2.0.1',
  packages: ['@evidence-dev/duckdb@2.0.1', '@evidence-dev/db-commons@1.1.1'],
};

export function installEvidence(): Promise<string> {
  return keepNodeTool(CONNECTOR);
}

export interface EvidenceSource {
  /** Text of `connection.yaml`. */
  readonly connection: string;
  readonly query: string;
}

/**
 * Runs a source query as Evidence does from `project`: the options of the connection, the folder of the source, the
 * project as the current folder.
 *
 * @returns the rows as they come to its site, dates as ISO 8601
 * @throws Error with what the connector said
 */
export async function runEvidenceSource(
  project: string,
  { connection, query }: EvidenceSource,
): Promise<readonly Record<string, unknown>[]> {
  const { options } = parse(connection) as { readonly options: object };
  const source = join(project, 'sources', 'billsync');
  await mkdir(source, { recursive: true });
  const args = ['-e', PROGRAM, '--', await installEvidence(), JSON.stringify(options), source, query];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project });
  return JSON.parse(stdout) as Record<string, unknown>[];
}

const PROGRAM = `
const [tool, options, source, query] = process.argv.slice(1);
const { getRunner } = require(require.resolve('@evidence-dev/duckdb', { paths: [tool] }));
getRunner(JSON.parse(options), source)
  .then((run) => run(query, source + '/spend.sql', 1000))
  .then(async ({ rows }) => {
    const all = [];
    for await (const batch of rows()) all.push(...batch);
    console.log(JSON.stringify(all));
  })
  .catch((error) => {
    console.error(String(error));
    process.exitCode = 1;
  });
`;
