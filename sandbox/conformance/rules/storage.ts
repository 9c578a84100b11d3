import { setTimeout as sleep } from 'node:timers/promises';
import { excerpt, jsonObject, textOf } from '../http.ts';
import { type Rule, requireThat, rule } from '../rule.ts';
import { approvedInvoice, download } from '../stories.ts';
import { type SuiteContext, skip } from '../suite-context.ts';

const DAY_MS = 86_400_000;
const TOLERANCE_MS = 120_000;

export const storageRules: readonly Rule[] = [
  rule('8', 'url-lifetime', 'A presigned URL lives for 24 hours after generation', async (context) => {
    const { invoiceId } = await context.once(download);
    const answer = await context.service.regenerate(invoiceId);
    const expiresAt = textOf(jsonObject(answer.body)?.presignedUrlExpiresAt) ?? '';
    return livesADay(expiresAt, answer.headers.date ?? '');
  }),
  rule('8', 'announced-lifetime', 'So does the URL of invoice_finalized', async (context) => {
    const { finalized } = await context.once(approvedInvoice);
    return livesADay(
      String(finalized.payload.presignedUrlExpiresAt),
      String(finalized.metadata.eventTimestamp),
    );
  }),
  rule('8', 'url-expires', 'An expired URL is refused; a regenerated one works', async (context) => {
    const { service, application } = context.shortLived;
    const { invoiceId } = await application.createInvoice({ shipments: 1 });
    await application.finalize(invoiceId);
    const { url, expiresAt } = await freshUrl(context.shortLived, invoiceId);
    const early = await service.plain({ url });
    requireThat(early.status === 200, `${early.status} before expiry`);
    await sleep(Math.max(0, Date.parse(expiresAt) - Date.now()) + 100);
    const late = await service.plain({ url });
    requireThat(late.status >= 400 && late.status < 500, `${late.status} after expiry`);
    const again = await service.plain({ url: (await freshUrl(context.shortLived, invoiceId)).url });
    requireThat(again.status === 200, `${again.status} for the regenerated URL`);
    return `200, then ${late.status}, then 200 for the regenerated URL`;
  }),
  rule('2.7', 'url-signed', 'A URL that was changed is refused', async (context) => {
    const { url } = await context.once(download);
    const bare = new URL(url);
    bare.search = '';
    const later = new URL(url);
    for (const [name, value] of later.searchParams) {
      if (/^\d{9,}$/.test(value)) later.searchParams.set(name, String(Number(value) + DAY_MS));
      if (/sig/i.test(name))
        later.searchParams.set(
          name,
          value.replace(/^./, (first) => (first === '0' ? '1' : '0')),
        );
    }
    const statuses: number[] = [];
    for (const changed of [bare, later])
      statuses.push((await context.service.plain({ url: changed.href })).status);
    requireThat(
      statuses.every((status) => status >= 400 && status < 500),
      statuses.join(', '),
    );
    return `${statuses.join(', ')} without and with another signature`;
  }),
  rule('2.7', 'url-needs-no-token', 'The URL alone downloads the file', async (context) => {
    const { answer } = await context.once(download);
    return `${answer.status} ${answer.headers['content-type'] ?? ''}, ${answer.body.length} bytes`;
  }),
  rule('2.7', 'range', 'Object storage answers a range of bytes', async (context) => {
    const { url, answer } = await context.once(download);
    const part = await context.service.plain({ url, headers: { range: 'bytes=5-14' } });
    if (part.status === 200) skipUnlessRequired(context, 'answered 200 with the whole file');
    requireThat(
      part.status === 206 && part.body.equals(answer.body.subarray(5, 15)),
      `${part.status} ${excerpt(part.body)}`,
    );
    return `206 ${part.headers['content-range'] ?? ''}`;
  }),
  rule('2.7', 'etag', 'Object storage names the version of the file by an ETag', async (context) => {
    const { url, answer } = await context.once(download);
    const again = await context.service.plain({ url });
    const [one, other] = [answer.headers.etag, again.headers.etag];
    if (one === undefined) skipUnlessRequired(context, 'no ETag');
    requireThat(one !== undefined && one === other, `${one ?? 'none'}, then ${other ?? 'none'}`);
    return one;
  }),
];

/**
 * Skips a rule about usual behavior of storage that the specification does not require: the sandbox has it, a real account may not.
 */
function skipUnlessRequired(context: SuiteContext, seen: string): void {
  if (!context.hasApplication) skip(`${seen}; the specification does not require it`);
}

async function freshUrl({ service }: SuiteContext['shortLived'], invoiceId: string) {
  const { body } = await service.regenerate(invoiceId);
  const object = jsonObject(body);
  const url = textOf(object?.presignedUrl);
  const expiresAt = textOf(object?.presignedUrlExpiresAt);
  requireThat(url !== null && expiresAt !== null, `regenerate answered ${excerpt(body)}`);
  return { url, expiresAt };
}

function livesADay(expiresAt: string, from: string): string {
  const lifetime = Date.parse(expiresAt) - Date.parse(from);
  requireThat(
    Math.abs(lifetime - DAY_MS) <= TOLERANCE_MS,
    `${expiresAt} is ${(lifetime / 3_600_000).toFixed(2)} h after ${from}`,
  );
  return `${(lifetime / 3_600_000).toFixed(2)} h`;
}
