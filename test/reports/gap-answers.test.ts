import { expect, test } from 'vitest';
import { gapKey, openGaps, readGapAnswers, recordGapDecision } from '../../reports/gap-answers.ts';
import { testFolder } from '../support/folders.ts';

const GAP = {
  ...{ partner_id: 'p', tenant: 'Acme', invoice_level: 'tenant', kind: 'period' },
  ...{ expected_from: '2026-03-01', expected_to: '2026-03-31', after_invoice: '7', before_invoice: null },
};
const OTHERS = [
  { tenant: 'Beta' },
  { tenant: null, invoice_level: 'partner' },
  { partner_id: 'q' },
  { kind: 'number' },
  { expected_to: '2026-03-30' },
  { before_invoice: '9' },
].map((other) => ({ ...GAP, ...other }));

test('an answered gap is closed, those that differ from it in anything stay open, and it is reopened', async () => {
  const dataDir = await testFolder();
  const decide = (kind: 'answered' | 'reopened') =>
    recordGapDecision(dataDir, {
      kind,
      at: '2026-04-02T08:00:00Z',
      by: 'ann',
      note: 'on holiday',
      gaps: [gapKey(GAP)],
    });
  await decide('answered');
  expect(await openGaps(dataDir, [GAP, ...OTHERS])).toEqual(OTHERS);
  expect([...(await readGapAnswers(dataDir)).values()]).toMatchObject([{ by: 'ann', note: 'on holiday' }]);
  await decide('reopened');
  expect(await openGaps(dataDir, [GAP, ...OTHERS])).toEqual([GAP, ...OTHERS]);
});
