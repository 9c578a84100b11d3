import { z } from 'zod';
import { readCheckedYaml, type YamlFile } from '../../lib/checked-yaml.ts';
import { USER_FILES, userStore } from '../../lib/user-store.ts';
import { ClaimError, type ClaimedLine } from './claim.ts';

const FROM = ['carrier-invoice-date', 'invoice-date', 'ship-date'] as const;

const days = (min: 0 | 1) =>
  z
    .string()
    .regex(min === 0 ? /^(0|[1-9]\d{0,3})$/ : /^[1-9]\d{0,3}$/, `a number of days, ${min} to 9999`)
    .transform(Number);

const Windows = z.strictObject({
  warn_days: days(0).default(14),
  answer_days: days(1).default(30),
  /** The minimum amount of findings in money at risk, in any currency. */
  min_amount: z
    .string()
    .regex(/^\d{1,12}(\.\d{1,4})?$/, 'digits with a point, as in 1.50')
    .default('0'),
  windows: z.array(
    z.strictObject({
      /** The carrier's name in lower case; `*` stands for all carriers that are not named. */
      carrier: z.string().transform((name) => name.toLowerCase()),
      days: days(1),
      from: z.enum(FROM).default('carrier-invoice-date'),
    }),
  ),
});

export type ClaimWindows = z.output<typeof Windows>;
export type ClaimWindow = ClaimWindows['windows'][number];

/** Without a file there are no windows. @throws ClaimError naming the line and what to write instead */
export async function readClaimWindows(dataDir: string): Promise<ClaimWindows> {
  const store = await userStore(dataDir);
  const text = await store.read(USER_FILES.claimWindows);
  if (text === null) return Windows.parse({ windows: [] });
  return parseClaimWindows({ path: store.place(USER_FILES.claimWindows), text: String(text) });
}

export async function parseClaimWindows(file: YamlFile): Promise<ClaimWindows> {
  const { value, refuse } = await readCheckedYaml(
    file,
    Windows,
    (problem) => new ClaimError('claim-windows-invalid', [problem]),
  );
  for (const [index, { carrier }] of value.windows.entries())
    if (value.windows.findIndex((other) => other.carrier === carrier) < index)
      refuse(['windows', index], `another line is of the carrier ${carrier}`);
  return value;
}

export interface Deadline {
  /** The last day on which the carrier accepts the claim; null when its window is unknown. */
  readonly closes_on: string | null;
  /** Days until the last day for the claim: 0 on that day and below zero after it; null when the window is unknown. */
  readonly days_left: number | null;
}

/** The deadline of a claim; days are in UTC. */
export function deadlineOf(
  line: Pick<ClaimedLine, 'carrier' | 'carrier_invoice_date' | 'invoice_date' | 'ship_date'>,
  windows: readonly ClaimWindow[],
  now: Date,
): Deadline {
  const named = windows.find(({ carrier }) => carrier === line.carrier.toLowerCase());
  const window = named ?? windows.find(({ carrier }) => carrier === '*');
  const dates = {
    'carrier-invoice-date': line.carrier_invoice_date,
    'invoice-date': line.invoice_date,
    'ship-date': line.ship_date,
  };
  const begins = window === undefined ? null : (dates[window.from] ?? line.invoice_date);
  if (window === undefined || begins === null) return { closes_on: null, days_left: null };
  const closes = Date.parse(`${begins}T00:00:00Z`) + window.days * DAY_MS;
  const today = Date.parse(`${now.toISOString().slice(0, 10)}T00:00:00Z`);
  return { closes_on: new Date(closes).toISOString().slice(0, 10), days_left: (closes - today) / DAY_MS };
}

const DAY_MS = 86_400_000;
