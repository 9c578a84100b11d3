import { afterAll, describe, expect, test } from 'vitest';
import type { CheckOutcome, LoadOutcome } from '../../../lib/warehouse-requests.ts';
import { CORPUS_INVOICE, CSV_CORPUS } from '../../corpus/csv-corpus.ts';
import { archiveCsv, aWarehouse } from '../support.ts';
import { readReference } from './reference-reader.ts';

const t = await aWarehouse();
afterAll(() => t.close());

async function checkAndLoad(bytes: Buffer): Promise<{ checked: CheckOutcome; outcome: LoadOutcome }> {
  const file = await archiveCsv(t, bytes);
  const csvPath = await t.archive.localPath(file.sha256);
  // Two sound cells look like a spreadsheet's; whether a file with them is taken is another question.
  const request = { invoiceId: CORPUS_INVOICE, file, csvPath, details: null, acceptsSpreadsheet: true };
  const checked = await t.warehouse.check(request);
  const outcome = await t.warehouse.load({
    invoiceId: CORPUS_INVOICE,
    sha256: file.sha256,
    source: 'event',
    announcedSha256: file.sha256,
    eventId: null,
    workflowRunId: null,
  });
  return { checked, outcome };
}

describe('the corpus', () => {
  test.each(CSV_CORPUS.map((of) => [of.name.slice(0, 80), of] as const))(
    '%s',
    async (_name, { bytes, verdict }) => {
      const { checked, outcome } = await checkAndLoad(bytes);
      if (verdict === 'ok') {
        expect(outcome).toMatchObject({ outcome: expect.stringMatching(/loaded/) });
        // The load has a hash that proves the end of the file; the check has none.
        if (bytes.toString('latin1').endsWith('\r\n')) expect(checked.outcome).toMatch(/checked|loaded/);
        expect(readReference(bytes, CORPUS_INVOICE)).toMatchObject({ isGood: true });
        return;
      }
      expect(checked).toEqual(outcome);
      if (outcome.outcome !== 'rejected') return expect(outcome.outcome).toBe('rejected');
      const found = outcome.findings.map(({ rule, row, column }) => `${rule}@${row ?? '-'}/${column ?? '-'}`);
      expect(found).toEqual(verdict);
      expect(readReference(bytes, CORPUS_INVOICE).isGood).toBe(false);
    },
  );
});
