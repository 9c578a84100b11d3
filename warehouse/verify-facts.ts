import { hash } from 'node:crypto';
import type { Archive, OnUnreadable, UnreadableRecord } from '../archive/archive.ts';
import type { Drift } from '../lib/warehouse-requests.ts';
import type { Database } from './duckdb/database.ts';
import {
  type Counts,
  contentOf,
  countsOf,
  lackingFacts,
  lackingFrom,
  readStoredRecords,
  type StoredRecord,
  storedRecordKey,
  storedRecordOfFact,
} from './ledger/archive-diff.ts';
import { type LoadFact, readSetAside } from './ledger/ingest.ts';

export interface VerifyFactsOptions {
  readonly database: Database;
  readonly archive: Archive;
  readonly ingest: () => Promise<unknown>;
  readonly step: <T>(work: () => Promise<T>) => Promise<T>;
  /** Called once: whether the fact of a load is not in the archive yet. */
  readonly pendingLoads: () => Promise<(load: StoredRecord) => boolean>;
  readonly isKnown: (loadId: number, rule: string) => boolean;
  readonly purgedFiles: () => Promise<ReadonlySet<string>>;
}

/** After ingesting, and without events that are unreadable or set aside. */
export async function verifyNames({
  database,
  archive,
  ingest,
  step,
}: Pick<VerifyFactsOptions, 'database' | 'archive' | 'ingest' | 'step'>): Promise<readonly Drift[]> {
  const names = new Set<string>();
  for await (const name of archive.eventNames()) names.add(name);
  await ingest();
  const known = await step(() => database.all('select lower(event_id) as event_id from event_ledger'));
  for (const { event_id } of known) names.delete(String(event_id));
  const setAside = names.size === 0 ? [] : await step(() => readSetAside(database));
  const drift: Drift[] = [];
  for (const name of names) {
    const event = await archive.event(name);
    if (event === null || setAside.some(({ place }) => place.startsWith(`event ${event.eventId},`))) continue;
    drift.push({
      invoiceId: event.event?.invoice.invoiceId.toLowerCase() ?? '',
      rule: 'event-not-ingested',
      expected: `event ${name}`,
      found: 'not in the ledger',
    });
  }
  return drift;
}

interface Archived {
  readonly loads: readonly LoadFact[];
  readonly counts: Counts;
  readonly distinct: Counts;
  readonly unreadable: readonly (UnreadableRecord & { readonly rule: string; readonly expected: string })[];
}

export async function verifyFacts(options: VerifyFactsOptions): Promise<readonly Drift[]> {
  const { database, archive, step, pendingLoads } = options;
  // The ledgers are read first: except for loads, their records were in the archive before.
  const stored = await step(() => readStoredRecords(database));
  const isPending = await pendingLoads();
  const archived = await readArchived(archive);
  const lacking = lackingFrom(
    archived.counts,
    stored.filter((record) => record.kind !== 'invoice' && !(record.kind === 'load' && isPending(record))),
  );
  return [
    ...archived.unreadable.map(({ where, why, rule, expected }) => ({
      invoiceId: '',
      rule,
      expected,
      found: `${where}: ${why}`,
    })),
    ...lacking.flatMap(driftOfOne),
    ...lackingFacts(lacking).map(({ kind, invoiceId, lines }) => ({
      invoiceId: invoiceId ?? '',
      rule: 'fact-missing',
      expected: `${lines} more ${lines === 1 ? 'fact' : 'facts'} of kind ${kind}`,
      found: 'not in the archive',
    })),
    ...(await compareLoads(options, archived.loads)),
    ...(await factsNotIngested(options, archived.distinct)),
  ];
}

async function factsNotIngested(
  { database, ingest, step }: VerifyFactsOptions,
  distinct: Counts,
): Promise<readonly Drift[]> {
  await ingest();
  const stored = countsOf(await step(() => readStoredRecords(database)));
  const setAside = await step(() => readSetAside(database));
  return [...distinct].flatMap(([key, recorded]) => {
    const lines = recorded - (stored.get(key) ?? 0);
    if (lines <= 0) return [];
    const [kind = '', subject = ''] = key.split(' ');
    const isSetAside = ({ place }: { readonly place: string }): boolean =>
      place.startsWith(`fact of kind ${kind},`) && place.toLowerCase().includes(subject.toLowerCase());
    if (setAside.some(isSetAside)) return [];
    const invoiceId = kind === 'duplicate' ? '' : subject;
    const expected = `${lines} more ${lines === 1 ? 'fact' : 'facts'} of kind ${kind}`;
    return [{ invoiceId, rule: 'fact-not-ingested', expected, found: 'not in the ledger' }];
  });
}

async function readArchived(archive: Archive): Promise<Archived> {
  const loads = new Map<string, LoadFact>();
  const counts = new Map<string, number>();
  const distinct = new Map<string, number>();
  const known = new Set<string>();
  const unreadable: Archived['unreadable'][number][] = [];
  const onUnreadableFact: OnUnreadable = (record) =>
    unreadable.push({ ...record, rule: 'fact-unreadable', expected: 'a fact' });
  for await (const fact of archive.facts(onUnreadableFact)) {
    if (fact.kind === 'load') loads.set(contentOf(fact), fact);
    const key = storedRecordOfFact(fact);
    if (key === null) continue;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    const digest = hash('sha256', JSON.stringify(fact), 'base64');
    if (fact.kind === 'load' || known.has(digest)) continue;
    known.add(digest);
    distinct.set(key, (distinct.get(key) ?? 0) + 1);
  }
  // All events are read: one that was damaged after it was ingested still has its name.
  const onUnreadable: OnUnreadable = (record) =>
    unreadable.push({ ...record, rule: 'event-unreadable', expected: 'an event' });
  for await (const _ of archive.events({ onUnreadable }));
  for await (const name of archive.eventNames())
    counts.set(storedRecordKey({ kind: 'event', subject: name }), 1);
  return { loads: [...loads.values()], counts, distinct, unreadable };
}

function driftOfOne({ kind, subject, loadId, invoiceId, sha256 }: StoredRecord): readonly Drift[] {
  const of = { invoiceId: invoiceId ?? '', found: 'not in the archive' };
  if (kind === 'load') return [{ ...of, rule: 'fact-missing', expected: `load ${loadId} of ${sha256}` }];
  if (kind === 'event') return [{ ...of, rule: 'event-missing', expected: `event ${subject}` }];
  return [];
}

async function compareLoads(
  { database, isKnown, purgedFiles }: VerifyFactsOptions,
  recorded: readonly LoadFact[],
): Promise<readonly Drift[]> {
  const loads = await database.all('loads-to-verify', { full: true });
  const stored = new Map(
    loads.map((row) => [
      contentOf({ invoiceId: String(row.invoice_id), sha256: String(row.file_sha256) }),
      row,
    ]),
  );
  const isLacking = recorded.some((fact) => !stored.has(contentOf(fact)));
  const purged = isLacking ? await purgedFiles() : new Set<string>();
  return recorded.flatMap((fact): Drift[] => {
    const { loadId, invoiceId, sha256, shipments, billingCost } = fact;
    const load = stored.get(contentOf(fact));
    if (load === undefined) {
      if (purged.has(sha256)) return [];
      return [{ invoiceId, rule: 'load-missing', expected: `load ${loadId} of ${sha256}`, found: 'none' }];
    }
    const pairs: readonly (readonly [string, string, string])[] = [
      ['rows', `${shipments ?? load.shipments}`, String(load.shipments)],
      ['sum', `${billingCost ?? load.billing_cost}`, String(load.billing_cost)],
    ];
    return pairs.flatMap(([rule, expected, found]) =>
      expected === found || isKnown(Number(load.load_id), rule)
        ? []
        : [{ invoiceId, rule, expected: `${expected} as recorded`, found }],
    );
  });
}
