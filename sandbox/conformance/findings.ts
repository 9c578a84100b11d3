import { parse } from 'lossless-json';
import { type Answer, excerpt } from './http.ts';
import { type Row, typeSketch, type Verdict } from './rule.ts';
import { findApiKeyHeader } from './rules/authorization.ts';
import { UNKNOWN_INVOICE } from './service.ts';
import { approvedInvoice, download, readableInvoiceId } from './stories.ts';
import { SkippedRuleError, type SuiteContext, skip } from './suite-context.ts';

export interface Finding {
  readonly section: string;
  readonly question: string;
  /** What was found in place of the expected value; null when nothing was there. */
  readonly found: string | null;
  readonly reason: string | null;
}

interface Question {
  readonly section: string;
  readonly question: string;
  readonly look: (context: SuiteContext) => Promise<string>;
}

function question(section: string, text: string, look: Question['look']): Question {
  return { section, question: text, look };
}

/** The other headers of a delivery may be a signature. */
const ORDINARY_HEADERS = ['host', 'connection', 'content-length', 'content-type', 'user-agent', 'accept'];

const QUESTIONS: readonly Question[] = [
  question('4.4', 'Response body of get invoice details', async (context) =>
    describe(await context.service.details(await readableInvoiceId(context))),
  ),
  question('4.5', 'Response format and headers of export-csv', async (context) => {
    const { status, headers } = await context.service.exportCsv(await readableInvoiceId(context));
    return `${status}, ${headersOf(headers, /^(content-|etag|transfer|accept-ranges|cache)/)}`;
  }),
  question('4.3', 'How object storage serves the file, and what it calls its parameters', async (context) => {
    const { url, answer } = await context.once(download);
    const names = [...new URL(url).searchParams.keys()].join(', ');
    return `query ${names}; ${headersOf(answer.headers, /^(content-|etag|accept-ranges|server|last-mod)/)}`;
  }),
  question('4.6', 'HTTP method and content type of the delivery', async (context) => {
    const { method, headers } = (await context.once(approvedInvoice)).finalized;
    return `${method}, ${String(headers['content-type'])}`;
  }),
  question('5', 'Signing of webhook deliveries', async (context) => {
    const { headers } = (await context.once(approvedInvoice)).finalized;
    const own = ['authorization', 'x-partner-system'];
    const further = Object.keys(headers).filter((name) => ![...ORDINARY_HEADERS, ...own].includes(name));
    return further.length === 0
      ? 'no header that could be a signature'
      : `further headers: ${further.join(', ')}`;
  }),
  question('5', 'How an API key is presented', ({ service }) =>
    findApiKeyHeader(service, service.apiKey ?? skip('no API key was given (--api-key)')),
  ),
  question('5', 'Authentication scheme of the billing invoice endpoints', async (context) => {
    const without = await context.service.details(UNKNOWN_INVOICE, {});
    const withToken = await context.service.details(UNKNOWN_INVOICE);
    const challenge = without.headers['www-authenticate'];
    return `Bearer token: ${withToken.status}; nothing: ${without.status}${challenge === undefined ? '' : `, ${challenge}`}`;
  }),
  question('7', 'Body of a 404 of regenerate', async ({ service }) =>
    describe(await service.regenerate(UNKNOWN_INVOICE)),
  ),
  question('7', 'Shape of the 400 error body (request with an id that is no UUID)', async ({ service }) =>
    describe(await service.regenerate('not-an-invoice-id')),
  ),
  question('7', 'Errors of get invoice details', async ({ service }) =>
    describe(await service.details(UNKNOWN_INVOICE)),
  ),
  question('7', 'Errors of export-csv', async ({ service }) =>
    describe(await service.exportCsv(UNKNOWN_INVOICE)),
  ),
  question(
    '7',
    'General response-code conventions: a wrong method, a path that does not exist',
    async ({ service }) => {
      const wrongMethod = await service.call({ method: 'DELETE', path: '/api/v1/deliveryexperience/ping' });
      const wrongPath = await service.call({ path: '/api/v1/no-such-thing' });
      return `wrong method ${wrongMethod.status}, wrong path ${wrongPath.status}`;
    },
  ),
  question('8', 'Rate limits', async ({ service }) => {
    const found = headersOf((await service.ping()).headers, /rate|limit|retry|quota/);
    return found === '' ? 'no header speaks of limits' : found;
  }),
  question('9', 'Deprecation and change policy', async ({ service }) => {
    const found = headersOf((await service.ping()).headers, /deprecat|sunset|version|^warning/);
    return found === '' ? 'no header speaks of versions' : found;
  }),
];

export async function collectFindings(context: SuiteContext): Promise<readonly Finding[]> {
  return Promise.all(
    QUESTIONS.map(async ({ section, question, look }): Promise<Finding> => {
      try {
        return { section, question, found: await look(context), reason: null };
      } catch (error) {
        const reason =
          error instanceof SkippedRuleError ? error.message : `not observed: ${(error as Error).message}`;
        return { section, question, found: null, reason };
      }
    }),
  );
}

function describe({ status, headers, body }: Answer): string {
  const type = headers['content-type'] ?? 'no content type';
  return `${status} ${type} ${sketchOf(body)}`;
}

function sketchOf(body: Buffer): string {
  try {
    return typeSketch(parse(body.toString('utf8')));
  } catch {
    return body.length === 0 ? '(empty)' : excerpt(body, 80);
  }
}

function headersOf(headers: Answer['headers'], wanted: RegExp): string {
  return Object.entries(headers)
    .filter(([name]) => wanted.test(name))
    .map(([name, value]) => `${name}: ${value}`)
    .join('; ');
}

export interface Report {
  readonly service: string;
  readonly rows: readonly Row[];
  readonly findings: readonly Finding[];
}

const MARKS: Readonly<Record<Verdict, string>> = { pass: 'pass', fail: 'FAIL', skipped: 'skip' };
const COLORS: Readonly<Record<Verdict, string>> = { pass: '32', fail: '1;31', skipped: '33' };

export function renderReport({ rows, findings, service }: Report, isColored: boolean): string {
  const widest = Math.max(0, ...rows.map(({ rule }) => rule.length));
  const paint = (text: string, code: string) => (isColored ? `\u001b[${code}m${text}\u001b[0m` : text);
  const lines = rows.map(({ section, rule, verdict, seen }) => {
    const mark = paint(MARKS[verdict], COLORS[verdict]);
    return `${mark}  ${section.padEnd(4)} ${rule.padEnd(widest)}  ${paint(oneLine(seen), '2')}`;
  });
  const open = findings.flatMap(({ section, question, found, reason }) => [
    `${section.padEnd(4)} ${question}`,
    `     ${paint(oneLine(found ?? `(${reason})`), '2')}`,
  ]);
  return [
    ...lines,
    '',
    paint('Questions that the specification leaves open', '1'),
    ...open,
    '',
    `${summary(rows)} (${service})`,
    '',
  ].join('\n');
}

export function summary(rows: readonly Row[]): string {
  const count = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict).length;
  return `${rows.length} rules: ${count('pass')} hold, ${count('fail')} broken, ${count('skipped')} skipped`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}
