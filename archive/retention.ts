/** What the archive's facts say about removing its oldest parts: which files were purged, and what may not be. */

import type { Archive, Fact } from './archive.ts';

export type Hold = Fact & { readonly kind: 'hold' };

/** What a purge asks of a thing: whose it is; null where nobody can say. */
export interface Owner {
  readonly invoiceId: string | null;
  readonly tenantIds: readonly (string | null | undefined)[];
}

export interface Retention {
  /** SHA-256 of each; one of them may have come again since. */
  readonly purgedFiles: ReadonlySet<string>;
  /** That stand, oldest first. */
  readonly holds: readonly Hold[];
}

/** Reads every fact. */
export async function readRetention(archive: Pick<Archive, 'facts'>): Promise<Retention> {
  const purgedFiles = new Set<string>();
  const holds = new Map<string, Hold>();
  for await (const fact of archive.facts()) {
    if (fact.kind === 'purged') purgedFiles.add(fact.sha256);
    if (fact.kind === 'hold') holds.set(fact.holdId, fact);
    if (fact.kind === 'hold-lifted') holds.delete(fact.holdId);
  }
  return { purgedFiles, holds: [...holds.values()] };
}

/** As `readRetention`, once and only when it is asked for: most never need it. */
export function purgedFilesOf(archive: Pick<Archive, 'facts'>): () => Promise<ReadonlySet<string>> {
  let read: Promise<ReadonlySet<string>> | undefined;
  return () => {
    read ??= readRetention(archive).then(({ purgedFiles }) => purgedFiles);
    return read;
  };
}

/** Whether one of the holds keeps it. What has no known owner is kept by every hold. */
export function isHeld(holds: readonly Hold[], { invoiceId, tenantIds }: Owner): boolean {
  if (invoiceId === null) return holds.length > 0;
  const names = new Set(tenantIds.flatMap((id) => (typeof id === 'string' ? [id.toLowerCase()] : [])));
  return holds.some(({ scope, subject }) => {
    if (scope === 'all') return true;
    const wanted = subject.toLowerCase();
    return scope === 'invoice' ? wanted === invoiceId.toLowerCase() : names.has(wanted);
  });
}
