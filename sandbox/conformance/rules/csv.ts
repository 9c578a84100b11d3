import { HEADERS, type Header, lineEnds, rowsOf } from '../csv.ts';
import { type Rule, requireNoComplaint, requireThat, rule, UUID } from '../rule.ts';
import { approvedInvoice, decimalOf, download, downloadOf, partnerInvoice, sumOf } from '../stories.ts';
import type { SuiteContext } from '../suite-context.ts';

const DATE = /^\d{4}-\d\d-\d\d$/;
const DECIMAL = /^-?\d+(\.\d+)?$/;

const FORMS: Readonly<Partial<Record<Header, RegExp>>> = {
  'Invoice Generation Date': DATE,
  'Invoice ID': UUID,
  'Ship Date': DATE,
  'Currency Code': /^[A-Z]{3}$/,
  'Billing Cost': DECIMAL,
  'Billable Weight': DECIMAL,
  'Billable Weight Unit': /^(LB|KG)$/,
  'Carrier Invoice Date': DATE,
};

export const csvRules: readonly Rule[] = [
  rule(
    '2.8',
    'csv-header',
    'The header row is first and names the fourteen columns in order',
    async (context) => {
      const { answer } = await context.once(download);
      const first = answer.body.toString('utf8').split(/\r\n|\r|\n/, 1)[0] ?? '';
      requireThat(first === HEADERS.join(','), `the first line is "${first}"`);
      return `${HEADERS.length} columns in order`;
    },
  ),
  rule('2.8', 'csv-utf8', 'The file is UTF-8', async (context) => {
    const { body } = (await context.once(download)).answer;
    const isUtf8 = Buffer.from(body.toString('utf8'), 'utf8').equals(body);
    requireThat(isUtf8, 'it has bytes that are no UTF-8');
    return `${body.length} bytes of UTF-8`;
  }),
  rule('2.8', 'csv-line-endings', 'Lines end in CRLF', async (context) => {
    const { crlf, lf, cr } = lineEnds((await context.once(download)).answer.body);
    requireThat(crlf > 0 && lf === 0 && cr === 0, `${crlf} CRLF, ${lf} LF, ${cr} CR`);
    return `${crlf} line ends, all CRLF`;
  }),
  rule(
    '2.8',
    'csv-quoting',
    'Fields with commas, quotes or line breaks are quoted, so each row has fourteen fields',
    async (context) => {
      const rows = rowsOf((await context.once(download)).answer);
      const odd = rows.flatMap((row) => Object.values(row)).filter((cell) => /[",\r\n]/.test(cell)).length;
      return `${rows.length} rows of ${HEADERS.length} fields, ${odd} cells needed quotes`;
    },
  ),
  rule(
    '2.8',
    'csv-types',
    'Dates, decimals, ids, currency and weight unit have their forms',
    async (context) => {
      const rows = rowsOf((await context.once(download)).answer);
      const wrong = rows.flatMap((row, at) =>
        Object.entries(FORMS)
          .filter(([name, form]) => row[name as Header] !== '' && !form.test(row[name as Header]))
          .map(([name]) => `row ${at + 1}: ${name} is "${row[name as Header]}"`),
      );
      requireNoComplaint(wrong.slice(0, 3));
      return `${rows.length} rows`;
    },
  ),
  rule('2.8', 'csv-invoice-id', "Every row carries the invoice's id", async (context) => {
    const file = await context.once(download);
    const ids = new Set(rowsOf(file.answer).map((row) => row['Invoice ID'].toLowerCase()));
    requireThat(
      ids.size === 1 && ids.has(file.invoiceId.toLowerCase()),
      `the rows name ${[...ids].join(', ')}`,
    );
    return `all rows name ${file.invoiceId}`;
  }),
  rule(
    '2.6',
    'total-is-sum',
    'invoiceTotalAmount is the sum of Billing Cost, in its currency',
    async (context) => totalsAgree(context, await context.once(approvedInvoice)),
  ),
  rule('2.6', 'count-is-rows', 'totalTransactionCount is the number of shipments', async (context) => {
    const { finalized } = await context.once(approvedInvoice);
    const rows = rowsOf((await context.once(download)).answer);
    const stated = decimalOf(finalized.payload.totalTransactionCount, 'totalTransactionCount');
    requireThat(stated.eq(rows.length), `${stated} stated, ${rows.length} rows`);
    return `${rows.length} shipments`;
  }),
  rule(
    '2.9',
    'tenant-column',
    "A tenant-level invoice's Tenant column is the tenant's name",
    async (context) => {
      const { tenant } = await context.once(approvedInvoice);
      const names = [...new Set(rowsOf((await context.once(download)).answer).map((row) => row.Tenant))];
      requireThat(
        names.length === 1 && names[0] === tenant?.name,
        `${JSON.stringify(names)} for ${tenant?.name}`,
      );
      return JSON.stringify(names[0]);
    },
  ),
  rule(
    '2.9',
    'partner-column',
    "A partner-level invoice's Tenant column is the partner's name",
    async (context) => {
      const partner = await context.application.partnerName();
      const { invoiceId } = await context.once(partnerInvoice);
      const names = [
        ...new Set(rowsOf((await downloadOf(context.service, invoiceId)).answer).map((row) => row.Tenant)),
      ];
      requireThat(names.length === 1 && names[0] === partner, `${JSON.stringify(names)} for ${partner}`);
      return JSON.stringify(names[0]);
    },
  ),
  rule(
    '2.9',
    'partner-sum',
    'A partner-level invoice aggregates all shipments of its tenants',
    async (context) => {
      const invoice = await context.once(partnerInvoice);
      const whole = rowsOf((await downloadOf(context.service, invoice.invoiceId)).answer);
      const parts = await Promise.all(
        invoice.sources.map(async ({ invoiceId }) =>
          rowsOf((await downloadOf(context.service, invoiceId)).answer),
        ),
      );
      const tracking = (rows: typeof whole) => rows.map((row) => row['Tracking Number']).sort();
      const expected = sumOf(parts.flat());
      requireThat(
        tracking(whole).join('\n') === tracking(parts.flat()).join('\n') && sumOf(whole).eq(expected),
        `${whole.length} rows and ${sumOf(whole)}, the tenants have ${parts.flat().length} and ${expected}`,
      );
      await totalsAgree(context, invoice);
      return `${whole.length} shipments of ${parts.length} tenants, ${expected}`;
    },
  ),
];

async function totalsAgree(
  context: SuiteContext,
  { finalized, invoiceId }: Pick<Awaited<ReturnType<typeof approvedInvoice>>, 'finalized' | 'invoiceId'>,
): Promise<string> {
  const rows = rowsOf((await downloadOf(context.service, invoiceId)).answer);
  const stated = decimalOf(finalized.payload.invoiceTotalAmount, 'invoiceTotalAmount');
  const currencies = new Set(rows.map((row) => row['Currency Code']));
  const currency = String(finalized.payload.currencyCode);
  requireThat(stated.eq(sumOf(rows)), `${stated} stated, the rows sum to ${sumOf(rows)}`);
  requireThat(
    currencies.size === 1 && currencies.has(currency),
    `${currency} stated, the rows are in ${[...currencies]}`,
  );
  return `${stated} ${currency}`;
}
