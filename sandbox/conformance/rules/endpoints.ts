import { rowsOf } from '../csv.ts';
import { digitsOf, excerpt, isObject, jsonObject, textOf } from '../http.ts';
import { type Rule, requireNoComplaint, requireThat, rule } from '../rule.ts';
import { UNKNOWN_INVOICE } from '../service.ts';
import { approvedInvoice, type Download, download, sumOf, unexportedInvoice } from '../stories.ts';
import { type SuiteContext, skip } from '../suite-context.ts';

export const endpointRules: readonly Rule[] = [
  rule(
    '4.3',
    'regenerate-fields',
    'Regenerate answers 200 with URL, expiry, hash and size',
    async (context) => {
      const { location } = await context.once(download);
      const wrong: string[] = [];
      if (!URL.canParse(textOf(location.presignedUrl) ?? '')) wrong.push('presignedUrl');
      if (Number.isNaN(Date.parse(textOf(location.presignedUrlExpiresAt) ?? '')))
        wrong.push('presignedUrlExpiresAt');
      if (!/^[0-9a-f]{64}$/i.test(textOf(location.fileHashSha256) ?? '')) wrong.push('fileHashSha256');
      if (!/^\d+$/.test(digitsOf(location.fileSizeBytes) ?? '')) wrong.push('fileSizeBytes');
      requireNoComplaint(wrong.map((name) => `${name} is ${JSON.stringify(location[name]) ?? 'missing'}`));
      return Object.keys(location).join(', ');
    },
  ),
  rule('4.3', 'regenerate-hash', "The regenerated hash and size are the file's", async (context) =>
    fileIsAnnounced(await context.once(download), (await context.once(download)).location),
  ),
  rule('4.3', 'regenerate-fresh', 'Each call answers a URL that works', async (context) => {
    const { invoiceId } = await context.once(download);
    const urls: string[] = [];
    for (let call = 0; call < 2; call += 1) {
      const answer = await context.service.regenerate(invoiceId);
      const url = textOf(jsonObject(answer.body)?.presignedUrl);
      requireThat(url !== null, `${answer.status} ${excerpt(answer.body)}`);
      const { status } = await context.service.plain({ url });
      requireThat(status === 200, `the URL answered ${status}`);
      urls.push(url);
    }
    return `${urls.length} URLs, both work`;
  }),
  rule('4.4', 'details', 'Details are a JSON object with the line items of the invoice', async (context) => {
    const file = await context.once(download);
    const answer = await context.service.details(file.invoiceId);
    const body = jsonObject(answer.body);
    requireThat(answer.status === 200 && body !== null, `${answer.status} ${excerpt(answer.body)}`);
    const items = longestObjectList(body);
    const rows = rowsOf(file.answer).length;
    requireThat(
      items !== null && items.count === rows,
      `${items?.count ?? 'no'} line items, the CSV has ${rows} rows`,
    );
    return `${items.count} line items in ${items.path}`;
  }),
  rule('4.5', 'export-csv', 'Export answers the same rows as the exported file', async (context) => {
    const file = await context.once(download);
    const answer = await context.service.exportCsv(file.invoiceId);
    requireThat(answer.status === 200, `${answer.status} ${excerpt(answer.body)}`);
    const exported = rowsOf(answer);
    const lines = (rows: typeof exported) =>
      rows
        .map((row) => JSON.stringify(row))
        .sort()
        .join('\n');
    requireThat(
      lines(exported) === lines(rowsOf(file.answer)),
      `${exported.length} rows, ${sumOf(exported)}, differ from the file`,
    );
    return `${exported.length} rows, ${sumOf(exported)}`;
  }),
  rule('6.6', 'regenerate-unexported', 'When the export failed, regenerate is 404', async (context) => {
    const { invoiceId } = await context.once(unexportedInvoice);
    return statusIs(await context.service.regenerate(invoiceId), 404);
  }),
  rule(
    '6.6',
    'export-csv-unexported',
    'When the export failed, export-csv is the fallback',
    async (context) => {
      const { invoiceId } = await context.once(unexportedInvoice);
      const answer = await context.service.exportCsv(invoiceId);
      requireThat(answer.status === 200, `${answer.status} ${excerpt(answer.body)}`);
      return `${rowsOf(answer).length} rows without an event`;
    },
  ),
  rule(
    '6.8',
    'announced-hash',
    'The SHA-256 and size of invoice_finalized are those of the file behind its URL',
    async (context) => {
      const { finalized } = await context.once(approvedInvoice);
      const url = textOf(finalized.payload.presignedUrl) ?? '';
      const answer = await context.service.plain({ url });
      requireThat(answer.status === 200, `the announced URL answered ${answer.status}`);
      const file = await context.once(download);
      requireThat(
        answer.body.equals(file.answer.body),
        'the announced URL and the regenerated one differ in bytes',
      );
      return fileIsAnnounced(file, finalized.payload);
    },
  ),
  rule('7', 'regenerate-unknown', 'Regenerate is 404 when the invoice does not exist', async ({ service }) =>
    statusIs(await service.regenerate(UNKNOWN_INVOICE), 404),
  ),
  rule(
    '7',
    'regenerate-draft',
    'Regenerate is 404 when the export of the invoice does not exist',
    async (context) => {
      const { invoiceId } = await context.application.createInvoice({ shipments: 1 });
      return statusIs(await context.service.regenerate(invoiceId), 404);
    },
  ),
  rule(
    '7',
    'regenerate-bad-request',
    'Regenerate is 400 with error details when no URL could be made',
    async (context) => {
      const invoiceId = await approvedId(context);
      await context.application.failRegenerate(invoiceId);
      const answer = await context.service.regenerate(invoiceId);
      requireThat(
        answer.status === 400 && answer.body.length > 0,
        `${answer.status} ${excerpt(answer.body)}`,
      );
      return excerpt(answer.body);
    },
  ),
];

function fileIsAnnounced(file: Download, location: Readonly<Record<string, unknown>>): string {
  const hash = textOf(location.fileHashSha256)?.toLowerCase();
  const size = digitsOf(location.fileSizeBytes);
  requireThat(hash === file.sha256, `the file's SHA-256 is ${file.sha256}, announced was ${hash}`);
  requireThat(
    size === String(file.answer.body.length),
    `the file has ${file.answer.body.length} bytes, announced were ${size}`,
  );
  return `${file.answer.body.length} bytes, ${file.sha256.slice(0, 16)}…`;
}

/** Each rule has an invoice of its own, so that a fault for it affects no other rule. */
async function approvedId({ application }: SuiteContext): Promise<string> {
  const { invoiceId } = await application.createInvoice({ shipments: 1 });
  const { status } = await application.finalize(invoiceId);
  return status === 'APPROVED' ? invoiceId : skip(`the invoice is ${status}`);
}

function statusIs({ status, body }: { status: number; body: Buffer }, wanted: number): string {
  requireThat(status === wanted, `${status} ${excerpt(body)}`);
  return `${status} ${excerpt(body)}`;
}

/** The spec leaves the shape of details open (spec 4.4). */
export function longestObjectList(value: unknown, path = 'the body'): { path: string; count: number } | null {
  if (Array.isArray(value)) return value.every(isObject) ? { path, count: value.length } : null;
  if (!isObject(value)) return null;
  const found = Object.entries(value).flatMap(([name, inner]) => {
    const most = longestObjectList(inner, path === 'the body' ? name : `${path}.${name}`);
    return most === null ? [] : [most];
  });
  return found.sort((one, other) => other.count - one.count)[0] ?? null;
}
