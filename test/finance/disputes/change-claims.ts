/**
 * Opens and changes claims as fast as it can until it is killed, and prints what is confirmed, a line each: ids
 * and the version all of them have from then on. Arguments: the folder, and where its line numbers begin.
 */

import { appendChange } from '../../../finance/disputes/journal.ts';
import { aLine } from './a-claim.ts';

const [, , folder = '', from = '0'] = process.argv;
const decided = { at: new Date().toISOString(), by: 'writer', note: 'x'.repeat(300) };

for (let batch = 0; ; batch += 1) {
  let ids: string[] = [];
  await appendChange(folder, ({ nextNumber }) => {
    const claims = Array.from({ length: 20 }, (_, index) => ({
      ...aLine({ row_number: Number(from) + batch * 20 + index }),
      id: `D-${nextNumber + index}`,
    }));
    ids = claims.map(({ id }) => id);
    return { ...decided, kind: 'opened', claims };
  });
  process.stdout.write(`${JSON.stringify({ ids, version: 1 })}\n`);
  const changed = ids.map((id) => ({ id, version: 2 }));
  await appendChange(folder, () => ({ ...decided, kind: 'changed', claims: changed, state: 'sent' }));
  process.stdout.write(`${JSON.stringify({ ids, version: 2 })}\n`);
}
