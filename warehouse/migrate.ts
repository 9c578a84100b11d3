/** Brings the warehouse's schema up to date: numbered files, each in a transaction of its own, never edited. */

import type { Database } from './database.js';
import { WarehouseTooNewError } from './errors.js';
import { migrations } from './sql.js';

/** @throws WarehouseTooNewError the file was made by a newer billsync */
export async function migrate(database: Database, now: Date): Promise<void> {
  await database.use((session) => session.all('create-migrations'));
  const [{ found = 0 } = {}] = (await database.all('migration-number')) as readonly { found: number }[];
  const known = migrations();
  const last = known.at(-1)?.number ?? 0;
  if (found > last) throw new WarehouseTooNewError(database.path, { found, known: last });
  for (const migration of known) {
    if (migration.number <= found) continue;
    await database.transaction(async (session) => {
      await session.script(migration.text);
      await session.all('insert-migration', {
        number: migration.number,
        name: migration.name,
        applied_at: now.toISOString(),
      });
    });
  }
}
