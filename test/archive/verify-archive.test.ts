import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { describeFile } from '../../archive/records.ts';
import { isEmptyArchive, verifyArchive } from '../../archive/verify-archive.ts';
import { testFolder } from '../support/folders.ts';
import { aCsv, sha256 } from '../warehouse/support.ts';
import { anArchivedEvent } from './an-event.ts';

const AT = '2026-03-01T00:00:00.000Z';
const LOAD = { kind: 'load', at: AT, source: 'event', version: 1, eventId: null } as const;
const fate = fc.constantFrom(
  'kept',
  'kept',
  'damaged',
  'lost',
  'purged',
  'lost without a load',
  'bytes lost',
);

test('what is lost or damaged in an archive is found, each once, and a purged file is no loss', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { maxLength: 5 }), fc.nat({ max: 3 }), async (fates, events) => {
      const folder = testFolder();
      const archive = await openFolderArchive(join(folder, 'archive'));
      expect(await isEmptyArchive(archive)).toBe(true);
      const expected: string[] = [];
      let facts = 0;
      for (const [n, each] of fates.entries()) {
        const [bytes, path] = [aCsv([{ 'Billing Cost': `${n + 1}.00` }]), join(folder, `${n}.csv`)];
        const [hash, invoiceId] = [sha256(bytes), `${`${n}`.repeat(8)}-0000-4000-8000-000000000000`];
        await writeFile(path, bytes);
        await archive.putFile(path, await describeFile(path));
        const stored = await archive.localPath(hash);
        if (each !== 'lost without a load') {
          const load = { ...LOAD, invoiceId, sha256: hash, announcedSha256: hash, loadId: n + 1 };
          await archive.putFact(load);
          facts += 1;
        }
        if (each === 'damaged') {
          await writeFile(stored, 'nonsense');
          expected.push(` hash ${hash} ${sha256(Buffer.from('nonsense'))}`);
        } else if (each === 'bytes lost') {
          await rm(stored);
          expected.push(`${invoiceId} file-missing ${hash} not in the archive`);
        } else if (each !== 'kept') {
          await archive.removeFile(hash);
          if (each === 'lost') expected.push(`${invoiceId} file-missing ${hash} not in the archive`);
        }
        if (each === 'purged') {
          const purged = {
            kind: 'purged',
            at: AT,
            sha256: hash,
            invoiceId,
            sizeBytes: 1,
            by: 'ada',
            reason: 'old',
          } as const;
          await archive.putFact(purged);
          facts += 1;
        }
      }
      for (let n = 0; n < events; n += 1) await archive.putEvent(anArchivedEvent());
      const { faults, ...counts } = await verifyArchive(archive);
      const found = faults.map((one) => `${one.invoiceId} ${one.rule} ${one.expected} ${one.found}`);
      expect(found.sort()).toEqual(expected.sort());
      const files = fates.filter((each) => each === 'kept' || each === 'damaged').length;
      expect(counts).toEqual({
        files,
        events,
        facts,
        purged: fates.filter((each) => each === 'purged').length,
      });
      const isEmpty = events === 0 && facts === 0 && files === 0;
      expect(await isEmptyArchive(archive)).toBe(isEmpty);
    }),
    { numRuns: 40 },
  );
});
