/**
 * `disputes/journal.ndjson` of the user store. A line is one change, of one or more claims, so a change is
 * complete or absent. It is decided on the lines before it while no other process appends (ADR 20).
 */

import { z } from 'zod';
import { USER_FILES, userStore, wholeLines } from '../../lib/user-store.ts';
import { describeIssues, wellFormedJson } from '../../lib/wire/json.ts';
import { CLAIM_STATES, type Claim, ClaimedLine, isUndecided, lineKey } from './claim.ts';

export interface Claims {
  readonly all: ReadonlyMap<string, Claim>;
  readonly problems: readonly string[];
  readonly nextNumber: number;
  /** Findings that a person dismissed, by `findingKey`. */
  readonly dismissed: ReadonlyMap<string, z.output<typeof Decided>>;
}

const Opened = z.object({
  kind: z.literal('opened'),
  claims: z.array(ClaimedLine.unwrap().extend({ id: z.string().regex(/^D-\d{1,15}$/) })).readonly(),
});
const Changed = z.object({
  kind: z.literal('changed'),
  claims: z.array(z.object({ id: z.string(), version: z.int().min(2) })).readonly(),
  state: z.enum(CLAIM_STATES).nullable(),
});
const Decided = z.object({ at: z.iso.datetime(), by: z.string(), note: z.string() });
const Dismissed = z.object({
  kind: z.enum(['dismissed', 'restored']),
  lines: z.array(z.string()).readonly(),
});
const Line = z.union([
  Decided.extend(Opened.shape),
  Decided.extend(Changed.shape),
  Decided.extend(Dismissed.shape),
]);
export type ClaimEntry = z.output<typeof Line>;

export async function readClaims(dataDir: string): Promise<Claims> {
  const store = await userStore(dataDir);
  return claimsIn(wholeLines(await store.read(USER_FILES.claims)));
}

/**
 * Durable when it resolves; nothing is changed when it throws. `decide` is called again when another process
 * appended meanwhile.
 */
export async function appendChange(dataDir: string, decide: (claims: Claims) => ClaimEntry): Promise<Claims> {
  const store = await userStore(dataDir);
  let after: Buffer = Buffer.alloc(0);
  await store.append(USER_FILES.claims, (before) => {
    const line = `${wellFormedJson(decide(claimsIn(before)))}\n`;
    after = Buffer.concat([before, Buffer.from(line)]);
    return line;
  });
  return claimsIn(after);
}

function claimsIn(journal: Buffer): Claims {
  const claims = new Map<string, Claim>();
  const alive = new Map<string, string>();
  const dismissed = new Map<string, z.output<typeof Decided>>();
  const problems: string[] = [];
  let highest = 0;
  const lines = String(journal).split('\n');
  for (const [index, line] of lines.entries()) {
    // Unreadable lines count too: a number that a carrier may have received is never used again.
    for (const [, number] of line.matchAll(/"D-(\d{1,15})"/g)) highest = Math.max(highest, Number(number));
    if (line === '') continue;
    const entry = entryIn(line);
    if (typeof entry === 'string') {
      const line = `${USER_FILES.claims}, line ${index + 1}`;
      problems.push(`${line} cannot be read (${entry}): the change is missing, compare with a backup.`);
    } else if (entry.kind === 'opened') open(entry, claims, alive);
    else if (entry.kind === 'changed') change(entry, claims, alive);
    else
      for (const key of entry.lines)
        if (entry.kind === 'dismissed') dismissed.set(key, entry);
        else dismissed.delete(key);
  }
  return { all: claims, problems, nextNumber: highest + 1, dismissed };
}

function entryIn(line: string): ClaimEntry | string {
  try {
    const read = Line.safeParse(JSON.parse(line));
    return read.success ? read.data : describeIssues(read.error, '', null);
  } catch {
    return 'not JSON';
  }
}

/** Leaves out an entry that contradicts an earlier one, as in a journal that was merged by hand. */
function open(
  { at, by, note, claims: opened }: Extract<ClaimEntry, { kind: 'opened' }>,
  claims: Map<string, Claim>,
  alive: Map<string, string>,
): void {
  if (opened.some((line) => claims.has(line.id) || alive.has(lineKey(line)))) return;
  for (const line of opened) {
    const history = [{ version: 1, at, by, state: 'open', note }] as const;
    claims.set(line.id, { ...line, state: 'open', version: 1, note, history });
    alive.set(lineKey(line), line.id);
  }
}

function change(
  { at, by, note, state, claims: changed }: Extract<ClaimEntry, { kind: 'changed' }>,
  claims: Map<string, Claim>,
  alive: Map<string, string>,
): void {
  const found = changed.flatMap(({ id, version }) => {
    const claim = claims.get(id);
    // A version may be missing where a line is damaged.
    return claim !== undefined && version > claim.version ? [{ claim, version }] : [];
  });
  if (found.length < changed.length) return;
  if (state !== null && isUndecided({ state }) && found.some(({ claim }) => isClaimedByOther(claim, alive)))
    return;
  for (const { claim, version } of found) {
    const next: Claim = {
      ...claim,
      ...{ version, state: state ?? claim.state, note: note === '' ? claim.note : note },
      history: [...claim.history, { version, at, by, state, note }],
    };
    claims.set(claim.id, next);
    if (isUndecided(next)) alive.set(lineKey(claim), claim.id);
    else if (alive.get(lineKey(claim)) === claim.id) alive.delete(lineKey(claim));
  }
}

function isClaimedByOther(claim: Claim, alive: ReadonlyMap<string, string>): boolean {
  return (alive.get(lineKey(claim)) ?? claim.id) !== claim.id;
}
