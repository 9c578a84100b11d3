/** Notes which loads are proved while others still are being: a proof of many files that is interrupted goes on with the rest. */

import type { Database } from '../duckdb/database.ts';

export interface NotedProofs {
  readonly add: (loadId: number) => Promise<void>;
  /** What is not noted yet. */
  readonly note: () => Promise<void>;
}

export interface NoteProofs {
  readonly database: Database;
  readonly now: Date;
  readonly step: <T>(work: () => Promise<T>) => Promise<T>;
  readonly noteEveryMs?: number;
}

const NOTE_EVERY_MS = 5_000;

export function noteProofs({ database, now, step, noteEveryMs = NOTE_EVERY_MS }: NoteProofs): NotedProofs {
  let proved: number[] = [];
  let notedAt = performance.now();
  const note = async (): Promise<void> => {
    if (proved.length > 0) {
      const load_ids = `[${proved.join(', ')}]`;
      await step(() => database.all('mark-verified', { load_ids, verified_at: now.toISOString() }));
    }
    proved = [];
    notedAt = performance.now();
  };
  return {
    note,
    async add(loadId) {
      proved.push(loadId);
      if (performance.now() - notedAt >= noteEveryMs) await note();
    },
  };
}
