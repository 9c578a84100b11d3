/** Runs the suite on an independent service as on a real account, which is only read. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collectFindings, type Finding } from '../../../sandbox/conformance/findings.ts';
import type { Row } from '../../../sandbox/conformance/rule.ts';
import { runSuite } from '../../../sandbox/conformance/suite.ts';
import { openSuiteContext } from '../../../sandbox/conformance/suite-context.ts';
import { type ForeignService, startForeignService } from '../../support/foreign-service.ts';

let foreign: ForeignService;
let open: Awaited<ReturnType<typeof openSuiteContext>>;
let rows: readonly Row[];
let findings: readonly Finding[];
let before: string;

beforeAll(async () => {
  foreign = await startForeignService();
  const { invoiceId } = await foreign.createInvoice({ rows: 12 });
  await foreign.finalize(invoiceId);
  before = everything();
  const { baseUrl, authUrl, clientId, clientSecret, caPem } = foreign;
  open = await openSuiteContext({
    target: { baseUrl, authUrl, clientId, clientSecret, caPem, apiKey: null, adminUrl: null },
    invoiceIds: [invoiceId],
  });
  rows = await runSuite(open.context);
  findings = await collectFindings(open.context);
});

afterAll(async () => {
  await open.close();
  await foreign.close();
});

function everything(): string {
  return JSON.stringify([foreign.events, foreign.billedRows()]);
}

function found(question: string): string | null | undefined {
  return findings.find((one) => one.question.includes(question))?.found;
}

test('checks what can be checked without changing anything', () => {
  const passed = rows.filter(({ verdict }) => verdict === 'pass').map(({ id }) => id);
  expect(passed).toEqual(
    expect.arrayContaining([
      'token-fields',
      'ping',
      'truncated-token',
      'csv-header',
      'regenerate-fields',
      'regenerate-hash',
      'export-csv',
      'regenerate-unknown',
    ]),
  );
});

test('finds the one rule that this service breaks', () => {
  const failed = rows.filter(({ verdict }) => verdict === 'fail');
  expect(failed).toMatchObject([{ id: 'details', seen: 'no line items, the CSV has 12 rows' }]);
});

test('skips rules that would change an account, with the reason', () => {
  const skipped = rows.filter(({ verdict }) => verdict === 'skipped');
  expect(skipped.map(({ id }) => id)).toEqual(expect.arrayContaining(['https-only', 'no-third-attempt']));
  for (const { seen } of skipped) expect(seen).toMatch(/would|was given|does not require/);
});

test('describes the shapes that the specification leaves open', () => {
  expect(found('Response body of get invoice details')).toMatch(/result: \{ invoice: \{ acmeInvoiceId: uuid/);
  expect(found('headers of export-csv')).toContain('text/csv');
  expect(found('calls its parameters')).toContain('query at, until, signature');
  expect(found('404 of regenerate')).toContain('404 application/json { message: string }');
  expect(found('wrong method')).toBe('wrong method 405, wrong path 404');
  expect(found('Signing of webhook deliveries')).toBeNull();
});

test('changes no data and prints no secret', () => {
  expect(everything()).toBe(before);
  const output = JSON.stringify([rows, findings]);
  for (const secret of foreign.secrets) expect(output).not.toContain(secret);
});
