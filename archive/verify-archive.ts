import type { Archive, UnreadableRecord } from './archive.ts';

export interface ArchiveFault {
  readonly invoiceId: string;
  readonly rule: 'hash' | 'file-missing' | 'event-unreadable' | 'fact-unreadable';
  readonly expected: string;
  readonly found: string;
}

export interface ArchiveProof {
  readonly files: number;
  readonly events: number;
  readonly facts: number;
  readonly purged: number;
  readonly faults: readonly ArchiveFault[];
}

export async function verifyArchive(archive: Archive): Promise<ArchiveProof> {
  const faults: ArchiveFault[] = [];
  const unreadable =
    (rule: ArchiveFault['rule'], expected: string) =>
    ({ where, why }: UnreadableRecord): void =>
      void faults.push({ invoiceId: '', rule, expected, found: `${where}: ${why}` });
  const there = new Set<string>();
  for await (const { sha256 } of archive.files()) {
    const stored = await archive.reread(sha256);
    there.add(sha256);
    if (stored?.sha256 === sha256) continue;
    const found = stored?.sha256 ?? 'not in the archive';
    faults.push({ invoiceId: '', rule: stored === null ? 'file-missing' : 'hash', expected: sha256, found });
  }
  const files = there.size;
  let events = 0;
  for await (const _ of archive.events({ onUnreadable: unreadable('event-unreadable', 'an event') }))
    events += 1;
  let facts = 0;
  const purged = new Set<string>();
  const missing = new Map<string, ArchiveFault>();
  for await (const fact of archive.facts(unreadable('fact-unreadable', 'a fact'))) {
    facts += 1;
    if (fact.kind === 'purged') purged.add(fact.sha256);
    if (fact.kind !== 'load' || there.has(fact.sha256)) continue;
    const { invoiceId, sha256 } = fact;
    missing.set(sha256, {
      ...{ invoiceId, rule: 'file-missing' },
      ...{ expected: sha256, found: 'not in the archive' },
    });
  }
  for (const [sha256, fault] of missing) if (!purged.has(sha256)) faults.push(fault);
  const gone = [...missing.keys()].filter((sha256) => purged.has(sha256)).length;
  return { files, events, facts, purged: gone, faults };
}

/** Unreadable records count as content. */
export async function isEmptyArchive(archive: Archive): Promise<boolean> {
  let unreadable = 0;
  const onUnreadable = (): void => {
    unreadable += 1;
  };
  const parts = [archive.events({ onUnreadable }), archive.factsAfter(null, onUnreadable), archive.files()];
  for (const part of parts) for await (const _ of part) return false;
  return unreadable === 0;
}
