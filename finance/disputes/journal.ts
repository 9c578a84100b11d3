/**
 * Keeps claims permanently: `disputes/journal.ndjson`, one JSON object a line, appended and flushed before it counts.
 *
 * A line is one change, of one claim or of many at once, so a change is there whole or not at all. Nothing is locked: each
 * line says which version of each claim it makes, and of two lines that make the same version the first one counts. The
 * writer of the second one reads the journal back, sees that another came first, and reports it (ADR 20).
 */

import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { appendDurably, makeFolder } from '../../lib/files/durable-files.ts';
import { naming, systemCode } from '../../lib/system-errors.ts';
import { describeIssues, wellFormedJson } from '../../lib/wire/json.ts';

import { CLAIM_STATES, type Claim, isAlive, lineKey } from './claim.ts';

export interface Claims {
  /** In the order in which they were opened. */
  readonly all: ReadonlyMap<string, Claim>;
  /** Sentences on lines that cannot be read; empty when all can. */
  readonly problems: readonly string[];
  /** For the next claim. */
  readonly nextNumber: number;
  /** Whether the change of that id counts; one that came second does not. */
  counts(change: string): boolean;
}

export interface ClaimJournal {
  /** @throws the system's error for a file that cannot be read */
  read(): Promise<Claims>;
  /** Durable when it resolves. @returns the id of the change, for `counts` of a later reading */
  append(change: NewChange): Promise<string>;
}

const amount = z.string().regex(/^\d{1,14}\.\d{4}$/);
const text = z.string().nullable();
const Opened = z.object({
  kind: z.literal('opened'),
  claims: z
    .array(
      z.object({
        id: z.string().regex(/^D-\d{1,15}$/),
        finding: z.string(),
        partnerId: text,
        invoiceLevel: z.string(),
        invoiceId: z.string(),
        invoiceNumber: text,
        rowNumber: z.int(),
        tenant: text,
        carrier: z.string(),
        trackingNumber: z.string(),
        currencyCode: z.string(),
        shipDate: text,
        carrierInvoiceDate: text,
        invoiceDate: text,
        billed: amount,
        expected: amount,
        claimed: amount,
        creditedBefore: amount,
        reason: z.string(),
      }),
    )
    .readonly(),
});
const Changed = z.object({
  kind: z.literal('changed'),
  /** The version that each of them has after it. */
  claims: z.array(z.object({ id: z.string(), version: z.int().min(2) })).readonly(),
  state: z.enum(CLAIM_STATES).nullable(),
});
const Said = z.object({ change: z.string(), at: z.iso.datetime(), by: z.string(), note: z.string() });
const Line = z.union([Said.extend(Opened.shape), Said.extend(Changed.shape)]);
type Line = z.output<typeof Line>;
export type NewChange = DistributiveOmit<Line, 'change'>;
type DistributiveOmit<T, Key extends PropertyKey> = T extends unknown ? Omit<T, Key> : never;

const NAME = 'journal.ndjson';
/** So long a line of another process that is half there is waited for. */
const HALF_WRITTEN_MS = 50;

/** @param folder `disputes` of the data folder; it is made when the first claim is opened */
export function openClaimJournal(folder: string): ClaimJournal {
  const path = join(folder, NAME);
  return {
    async read() {
      const bytes = await bytesOf(path);
      if (bytes === '' || bytes.endsWith('\n')) return read(bytes);
      await sleep(HALF_WRITTEN_MS);
      return read(await bytesOf(path));
    },
    async append(change) {
      await makeFolder(folder);
      const id = randomUUID();
      // A line end first: a line that a kill or a full disk cut off stays alone.
      await appendDurably(path, `\n${wellFormedJson({ change: id, ...change })}\n`).catch(naming(path));
      return id;
    },
  };
}

function bytesOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return '';
    return naming(path)(error);
  });
}

function read(journal: string): Claims {
  const claims = new Map<string, Claim>();
  const alive = new Map<string, string>();
  const counted = new Set<string>();
  const problems: string[] = [];
  let highest = 0;
  const lines = journal.split('\n');
  for (const [index, line] of lines.entries()) {
    // Also of unreadable lines: a number that a carrier may know is never used again.
    for (const [, number] of line.matchAll(/"D-(\d{1,15})"/g)) highest = Math.max(highest, Number(number));
    if (line === '') continue;
    const change = lineOf(line);
    if (typeof change === 'string')
      problems.push(problemAt({ index, isTorn: lines[index + 1] !== '' }, change));
    else if (change.kind === 'opened' ? opens(change, claims, alive) : changes(change, claims, alive))
      counted.add(change.change);
  }
  return { all: claims, problems, nextNumber: highest + 1, counts: (change) => counted.has(change) };
}

/** A complete write ends its line; the next write starts with a line break. */
function problemAt(
  { index, isTorn }: { readonly index: number; readonly isTorn: boolean },
  why: string,
): string {
  const where = `disputes/${NAME}, line ${index + 1}`;
  return isTorn
    ? `${where}, was cut off while it was written: that change was never made, look whether it has to be made again.`
    : `${where}, cannot be read (${why}): what it changed is missing, compare with a backup.`;
}

function lineOf(line: string): Line | string {
  try {
    const read = Line.safeParse(JSON.parse(line));
    return read.success ? read.data : describeIssues(read.error, '', null);
  } catch {
    return 'not JSON';
  }
}

/** @returns whether it counts: none of its claims and lines is there already */
function opens(
  { at, by, note, claims: opened }: Extract<Line, { kind: 'opened' }>,
  claims: Map<string, Claim>,
  alive: Map<string, string>,
): boolean {
  if (opened.some((line) => claims.has(line.id) || alive.has(lineKey(line)))) return false;
  for (const line of opened) {
    const history = [{ version: 1, at, by, state: 'open', note }] as const;
    claims.set(line.id, { ...line, state: 'open', version: 1, note, history });
    alive.set(lineKey(line), line.id);
  }
  return true;
}

/** @returns whether it counts: each claim had the version before */
function changes(
  { at, by, note, state, claims: changed }: Extract<Line, { kind: 'changed' }>,
  claims: Map<string, Claim>,
  alive: Map<string, string>,
): boolean {
  const found = changed.flatMap(({ id, version }) => {
    const claim = claims.get(id);
    // A version may be missing where a line is damaged.
    return claim !== undefined && version > claim.version ? [{ claim, version }] : [];
  });
  if (found.length < changed.length) return false;
  const wouldLive = state !== null && isAlive({ state });
  if (wouldLive && found.some(({ claim }) => (alive.get(lineKey(claim)) ?? claim.id) !== claim.id))
    return false;
  for (const { claim, version } of found) {
    const next: Claim = {
      ...claim,
      ...{ version, state: state ?? claim.state, note: note === '' ? claim.note : note },
      history: [...claim.history, { version, at, by, state, note }],
    };
    claims.set(claim.id, next);
    if (isAlive(next)) alive.set(lineKey(claim), claim.id);
    else if (alive.get(lineKey(claim)) === claim.id) alive.delete(lineKey(claim));
  }
  return true;
}
