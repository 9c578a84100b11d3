/**
 * Gaps that a person answered, in `gaps.ndjson` of the user store: a line is one decision, and the newest about a gap
 * counts. A gap whose days or invoices change is another gap, which is open.
 */

import { z } from 'zod';
import { jsonOrNull } from '../lib/text.ts';
import { USER_FILES, userStore, wholeLines } from '../lib/user-store.ts';
import { wellFormedJson } from '../lib/wire/json.ts';
import type { ReportRow } from './cells.ts';

const Decision = z.object({
  kind: z.enum(['answered', 'reopened']),
  ...{ at: z.iso.datetime(), by: z.string(), note: z.string() },
  gaps: z.array(z.string()).readonly(),
});
export type GapDecision = z.output<typeof Decision>;

/** Numbers of invoices are not unique, so the tenant and the level belong to a gap. A tenant that was renamed has open gaps again. */
const KEYS = [
  ...['partner_id', 'tenant', 'invoice_level', 'kind'],
  ...['expected_from', 'expected_to', 'after_invoice', 'before_invoice'],
];

/** Identifies a row of the report of gaps. */
export function gapKey(row: ReportRow): string {
  return JSON.stringify(KEYS.map((name) => row[name] ?? null));
}

/** The answers by `gapKey`. A journal with a line that cannot be read answers nothing, so that its gaps are open. */
export async function readGapAnswers(dataDir: string): Promise<ReadonlyMap<string, GapDecision>> {
  const store = await userStore(dataDir);
  const lines = String(wholeLines(await store.read(USER_FILES.gapAnswers))).split('\n');
  const answers = new Map<string, GapDecision>();
  for (const line of lines.slice(0, -1)) {
    const { data: decision } = Decision.safeParse(jsonOrNull(line));
    if (decision === undefined) return new Map();
    for (const key of decision.gaps)
      if (decision.kind === 'answered') answers.set(key, decision);
      else answers.delete(key);
  }
  return answers;
}

export async function openGaps<T extends ReportRow>(
  dataDir: string,
  rows: readonly T[],
): Promise<readonly T[]> {
  const answers = await readGapAnswers(dataDir);
  return rows.filter((row) => !answers.has(gapKey(row)));
}

/** Durable when the promise resolves. */
export async function recordGapDecision(dataDir: string, decision: GapDecision): Promise<void> {
  const store = await userStore(dataDir);
  await store.append(USER_FILES.gapAnswers, () => `${wellFormedJson(decision)}\n`);
}
