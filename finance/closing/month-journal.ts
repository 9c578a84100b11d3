/** Closed months in `months.ndjson` of the user store; a line is one decision, and the newest of a month counts. */

import { z } from 'zod';
import { EXIT, errorClass } from '../../lib/errors.ts';
import { jsonOrNull } from '../../lib/text.ts';
import { USER_FILES, userStore, wholeLines } from '../../lib/user-store.ts';
import { wellFormedJson } from '../../lib/wire/json.ts';
import { DATE_BASES } from '../../reports/report-filters.ts';

const amount = z.string().regex(/^-?\d{1,34}\.\d{4}$/);
const decisionFields = { period: z.string().regex(/^\d{4}-\d\d$/), at: z.iso.datetime(), by: z.string() };
/** Partners are never summed; null for invoices of an unknown partner. */
const ofPartner = { partner_id: z.string().nullable(), currency_code: z.string() };

const Closed = z.object({
  ...{ kind: z.literal('closed'), ...decisionFields, reason: z.string() },
  date_basis: z.enum(DATE_BASES),
  publication: z.int(),
  /** Publications after this instant count as changes after the closing. */
  published_at: z.iso.datetime(),
  totals: z.array(z.object({ ...ofPartner, lines: z.int(), billed: amount })),
  /** Points that were open at the closing, as sentences. */
  open: z.array(z.string()),
  /** Changes of earlier closed months that this closing includes. */
  restated: z.array(z.object({ ...ofPartner, period: z.string(), difference: amount })),
});
export type ClosedMonth = z.output<typeof Closed>;

const Entry = z.discriminatedUnion('kind', [
  Closed,
  z.object({ kind: z.literal('exported'), ...decisionFields }),
]);
export type MonthEntry = z.output<typeof Entry>;

export class MonthError extends errorClass({
  'month-refused': { message: '%s', exitCode: EXIT.usage },
  'months-damaged': {
    message: 'Line %s of the journal of closed months cannot be read',
    exitCode: EXIT.checkFailed,
    hint: 'restore it from a backup: without it a closed month looks open',
  },
}) {}

/** Reads the closings, the oldest first. @throws MonthError a line cannot be read */
export async function readMonths(dataDir: string): Promise<readonly MonthEntry[]> {
  const store = await userStore(dataDir);
  const lines = String(wholeLines(await store.read(USER_FILES.months)))
    .split('\n')
    .slice(0, -1);
  return lines.map((line, at) => {
    const read = Entry.safeParse(jsonOrNull(line));
    if (read.success) return read.data;
    throw new MonthError('months-damaged', [at + 1], { subject: store.place(USER_FILES.months) });
  });
}

/** Records a closing, which is durable when the promise resolves. */
export async function recordMonth(dataDir: string, entry: MonthEntry): Promise<void> {
  const store = await userStore(dataDir);
  await store.append(USER_FILES.months, () => `${wellFormedJson(entry)}\n`);
}

export function closingOf(entries: readonly MonthEntry[], period: string): ClosedMonth | null {
  return (
    entries.filter((entry) => entry.kind === 'closed').findLast((entry) => entry.period === period) ?? null
  );
}
