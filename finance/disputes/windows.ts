/** How long each carrier takes claims: a file that people write, checked whole before any of it is believed. */

import { z } from 'zod';
import { readCheckedYaml, type YamlFile } from '../../lib/checked-yaml.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { BillsyncError, EXIT } from '../../lib/wire/errors.ts';
import type { ClaimedLine } from './claim.ts';

const FROM = ['carrier-invoice-date', 'invoice-date', 'ship-date'] as const;

const days = (least: number) =>
  z
    .string()
    .regex(least === 0 ? /^(0|[1-9]\d{0,3})$/ : /^[1-9]\d{0,3}$/, `a number of days, ${least} to 9999`)
    .transform(Number);

const Windows = z.strictObject({
  /** So long before the window of an open claim ends there is an alert. */
  warn_days: days(0).default(14),
  /** So long a claim that was sent may go without a credit before there is an alert. */
  answer_days: days(1).default(30),
  windows: z.array(
    z.strictObject({
      /** In any case; `*` for all that are not named. */
      carrier: z.string().transform((name) => name.toLowerCase()),
      days: days(1),
      from: z.enum(FROM).default('carrier-invoice-date'),
    }),
  ),
});

export type ClaimWindows = z.output<typeof Windows>;
export type ClaimWindow = ClaimWindows['windows'][number];

/** The file is invalid. */
export class ClaimWindowsError extends BillsyncError {
  readonly code = 'claim-windows-invalid';
  override readonly exitCode = EXIT.usage;
}

/** @returns no window when there is no such file @throws ClaimWindowsError naming the line and what to write instead */
export async function readClaimWindows(dataDir: string): Promise<ClaimWindows> {
  const store = await userStore(dataDir);
  const text = await store.read(USER_FILES.claimWindows);
  if (text === null) return Windows.parse({ windows: [] });
  return parseClaimWindows({ path: store.place(USER_FILES.claimWindows), text: String(text) });
}

/** @throws ClaimWindowsError naming the line and what to write instead */
export async function parseClaimWindows(file: YamlFile): Promise<ClaimWindows> {
  const hint = 'docs/how-to/disputes.md shows what it may say';
  const { value, refuse } = await readCheckedYaml(
    file,
    Windows,
    (problem) => new ClaimWindowsError(problem, { hint }),
  );
  for (const [index, { carrier }] of value.windows.entries())
    if (value.windows.findIndex((other) => other.carrier === carrier) < index)
      refuse(['windows', index], `another line is of the carrier ${carrier}`);
  return value;
}

export interface Deadline {
  /** The last day on which the carrier takes the claim, `YYYY-MM-DD`. */
  readonly closesOn: string;
  /** 0 on that day, below zero after it. */
  readonly daysLeft: number;
}

/** null: no window is known for the carrier. Days are in UTC. */
export function deadlineOf(
  line: Pick<ClaimedLine, 'carrier' | 'carrierInvoiceDate' | 'invoiceDate' | 'shipDate'>,
  windows: readonly ClaimWindow[],
  now: Date,
): Deadline | null {
  const named = windows.find(({ carrier }) => carrier === line.carrier.toLowerCase());
  const window = named ?? windows.find(({ carrier }) => carrier === '*');
  if (window === undefined) return null;
  const dates = { 'carrier-invoice-date': line.carrierInvoiceDate, 'ship-date': line.shipDate };
  const begins = (window.from === 'invoice-date' ? null : dates[window.from]) ?? line.invoiceDate;
  if (begins === null) return null;
  const closes = Date.parse(`${begins}T00:00:00Z`) + window.days * DAY_MS;
  const today = Date.parse(`${now.toISOString().slice(0, 10)}T00:00:00Z`);
  return { closesOn: new Date(closes).toISOString().slice(0, 10), daysLeft: (closes - today) / DAY_MS };
}

const DAY_MS = 86_400_000;
