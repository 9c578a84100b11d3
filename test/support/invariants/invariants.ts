/**
 * The nine invariants that hold after every kill and every fault, as one function. It reads what lies on disk and what
 * Temporal tells, shares no query with the product, and answers with what is broken instead of throwing at the first.
 *
 * I1 acknowledged events are kept and were acted on or still wait · I2 rows = rows of the file = ledger, sums exact ·
 * I3 one active load per invoice · I4 no voided invoice in any report · I5 the published file passes I2 to I4 by
 * itself · I6 no planted secret anywhere · I7 no workflow task in retries, no unfinished handlers · I8 no temporary
 * file older than ten minutes · I9 no secondary index.
 */

import { readFile, stat } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { runReport } from '../../../reports/report-session.ts';
import { listFiles } from '../hostile/find-secrets.ts';
import { addTo, differences, exact, type Sum } from './exact-sums.ts';
import { checkSecrets } from './invariant-secrets.ts';
import { checkDatabase } from './invariants-of-file.ts';
import { broken, type InvariantOptions, type Violation } from './violation.ts';

export type { InvariantOptions, Truth, Violation } from './violation.ts';

/**
 * To be called when nobody writes the warehouse: its file and its log of changes are copied and opened.
 *
 * @returns everything that is broken; empty when all nine hold
 */
export async function checkInvariants(options: InvariantOptions): Promise<readonly Violation[]> {
  const { dataDir } = options;
  return [
    ...(await checkAcknowledged(options)),
    ...(await checkDatabase(join(dataDir, 'warehouse.duckdb'), options, (invariant) => invariant)),
    ...(await checkDatabase(join(dataDir, 'reports.duckdb'), options, (invariant) =>
      invariant === 'I9' ? 'I9' : 'I5',
    )),
    ...(await checkReports(options)),
    ...(await checkSecrets(options)),
    ...(await checkWorkflows(options)),
    ...(await checkTemporaryFiles(options)),
  ];
}

/** I1. The archive has it; the inbox has it done, or still waiting. */
async function checkAcknowledged({ dataDir, truth }: InvariantOptions): Promise<readonly Violation[]> {
  const files = await listFiles(dataDir);
  const named = (part: string): string[] =>
    files.filter((file) => relative(dataDir, file).startsWith(part)).map((file) => basename(file));
  const [pending, done, archived] = [named('inbox/pending'), named('inbox/done'), named('archive/events')];
  const has = (names: readonly string[], eventId: string): boolean =>
    names.some((name) => name.includes(eventId));
  return truth.acknowledged
    .filter((id) => !has(pending, id) && !(has(done, id) && has(archived, id)))
    .map((id) => broken('I1', `event ${id} was acknowledged and is neither waiting nor forwarded`));
}

/** I4 and I5 as a reader sees them: the reports themselves add up to the books, which know no voided invoice. */
async function checkReports({ dataDir, truth }: InvariantOptions): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  for (const [name, column] of [
    ['tenants', 'tenant'],
    ['carriers', 'carrier'],
  ] as const) {
    const expected = new Map<string, Sum>();
    for (const row of truth.billed) addTo(expected, `${row[column]} ${row.currencyCode}`, row.billingCost);
    try {
      const databasePath = join(dataDir, 'reports.duckdb');
      const { rows } = await runReport({ databasePath, name, filters: { level: 'all' } });
      const found = new Map(
        rows.map((row): [string, Sum] => [
          `${row[column]} ${row.currency_code}`,
          { rows: Number(row.shipments), tenThousandths: exact(String(row.billing_cost)) },
        ]),
      );
      for (const what of differences(expected, found)) {
        violations.push(broken('I4', `report ${name}: ${what}`));
      }
    } catch (error) {
      violations.push(broken('I5', `report ${name} cannot be had: ${String(error)}`));
    }
  }
  return violations;
}

const ANSWERED_WITHIN_SECONDS = 60;

/**
 * A task whose worker was killed is given out again, when its ten seconds are over; so the next worker must be left at work until
 * none is tried again, before it is stopped and I7 asked. A task that is never answered is left for I7 to find.
 */
export async function letWorkflowTasksEnd(client: Client): Promise<void> {
  for (let second = 0; second < ANSWERED_WITHIN_SECONDS; second += 1) {
    if ((await retriedTasks(client)).length === 0) return;
    await sleep(1_000);
  }
}

async function retriedTasks(client: Client) {
  const found: { readonly workflowId: string; readonly attempt: number }[] = [];
  for await (const { workflowId, runId } of client.workflow.list({ query: 'ExecutionStatus="Running"' })) {
    const { raw } = await client.workflow.getHandle(workflowId, runId).describe();
    const attempt = raw.pendingWorkflowTask?.attempt ?? 0;
    if (attempt > 1) found.push({ workflowId, attempt });
  }
  return found;
}

/** I7: asks for every open workflow, and reads what the workers wrote. */
async function checkWorkflows({ client, logFolder }: InvariantOptions): Promise<readonly Violation[]> {
  const violations: Violation[] = [];
  if (client !== null) {
    for (const { workflowId, attempt } of await retriedTasks(client)) {
      violations.push(broken('I7', `${workflowId}: its workflow task is at attempt ${attempt}`));
    }
    for await (const { workflowId } of client.workflow.list({ query: 'ExecutionStatus="Failed"' })) {
      violations.push(broken('I7', `${workflowId} failed`));
    }
  }
  for (const file of logFolder === undefined ? [] : await listFiles(logFolder)) {
    const lines = (await readFile(file, 'utf8')).split('\n');
    const warnings = lines.filter((line) => /unfinished|TMPRL1102/i.test(line));
    for (const line of warnings) violations.push(broken('I7', `${basename(file)}: ${line.slice(0, 200)}`));
  }
  return violations;
}

const OLDEST_TEMPORARY_MS = 10 * 60_000;

/** I8, of the whole data folder; Temporal's database makes its own. */
async function checkTemporaryFiles({ dataDir, now = () => new Date() }: InvariantOptions) {
  const violations: Violation[] = [];
  for (const file of await listFiles(dataDir)) {
    const name = relative(dataDir, file);
    if (name.startsWith('temporal/') || !/\.(tmp|part|dead)$|(^|\/)tmp\//.test(name)) continue;
    const made = await stat(file).catch(() => null);
    if (made === null) continue;
    const ageMs = now().getTime() - made.mtimeMs;
    if (ageMs > OLDEST_TEMPORARY_MS)
      violations.push(broken('I8', `${name} is ${Math.round(ageMs / 60_000)} min old`));
  }
  return violations;
}
