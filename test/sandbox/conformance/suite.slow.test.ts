/** Proves the suite both ways: a right service keeps every rule, and each broken one is found out by the right rule. */
import { afterEach, describe, expect, test } from 'vitest';
import { collectFindings } from '../../../sandbox/conformance/findings.ts';
import type { Row } from '../../../sandbox/conformance/rule.ts';
import { RULES, runSuite } from '../../../sandbox/conformance/suite.ts';
import {
  type OpenContextOptions,
  openSuiteContext,
  type Target,
} from '../../../sandbox/conformance/suite-context.ts';
import type { NewFault } from '../../../sandbox/faults/faults.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/service.ts';
import { type Lie, startLyingProxy } from './lying-proxy.ts';

const QUICK = { retryDelayMs: 200, deliveryTimeoutMs: 800 } as const;
const HASTY = { ...QUICK, partnerKind: 'enterprise', wirePrefix: 'service' } as const;
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

describe('the conformance suite', () => {
  test('finds nothing to complain about in the sandbox', async () => {
    // Long enough that a busy machine does not make an answer in time a late one.
    const responseLimitMs = 3_000;
    const sandbox = await start({ ...QUICK, deliveryTimeoutMs: responseLimitMs });
    const shortLived = await start({ ...HASTY, tokenLifetimeSeconds: 2, urlLifetimeSeconds: 2 });
    const { production } = sandbox;
    const context = await open({
      target: targetOf(sandbox),
      shortLived: targetOf(shortLived),
      otherEnvironment: { baseUrl: production.baseUrl, authUrl: production.authUrl },
      responseLimitMs,
      briefDelayMs: 10_000,
    });
    const rows = await runSuite(context);
    expect(rows.filter(({ verdict }) => verdict !== 'pass')).toEqual([]);
    expect(rows).toHaveLength(RULES.length);
    const findings = await collectFindings(context);
    expect(findings.filter(({ found }) => found === null)).toEqual([]);
  });

  test('names every rule once and has one for each section that has rules', () => {
    expect(new Set(RULES.map(({ id }) => id)).size).toBe(RULES.length);
    const sections = [
      '2.1',
      '2.3',
      '2.4',
      '2.5',
      '2.6',
      '2.7',
      '2.8',
      '2.9',
      '3',
      '4.1',
      '4.2',
      '4.3',
      '4.4',
      '4.5',
    ];
    const further = ['4.6', '5', '6', '6.1', '6.2', '6.3', '6.4', '6.5', '6.6', '6.7', '6.8', '7', '8', '9'];
    expect([...new Set(RULES.map(({ section }) => section))].sort()).toEqual(
      [...sections, ...further].sort(),
    );
  });
});

describe('a fault of the service breaks its rule', () => {
  const malformed = (kind: string): NewFault => ({ name: 'malformed-csv', params: { kind } });
  const at = (name: string, endpoint: NonNullable<NewFault['target']>['endpoint'] & string): NewFault => ({
    name,
    target: { endpoint },
  });
  const cases: readonly (readonly [rule: string, fault: NewFault])[] = [
    ['announced-hash', at('wrong-hash', 'event')],
    ['announced-hash', at('wrong-size', 'event')],
    ['announced-hash', { name: 'expired-url' }],
    ['regenerate-hash', at('wrong-hash', 'regenerate')],
    ['regenerate-hash', at('gzip', 'storage')],
    ['regenerate-hash', { name: 'corrupt-body' }],
    ['regenerate-fields', { name: 'not-found' }],
    ['url-lifetime', at('clock-skew', 'regenerate')],
    ['total-is-sum', { name: 'wrong-totals' }],
    ['count-is-rows', { name: 'wrong-totals' }],
    ['total-is-sum', { name: 'other-currency' }],
    ['schema-version', { name: 'schema-v2' }],
    ['payload-fields', { name: 'schema-v2' }],
    ['no-pending-event', { name: 'unknown-event-type' }],
    ['event-order', { name: 'unknown-event-type' }],
    ['csv-header', malformed('renamed-column')],
    ['csv-line-endings', malformed('lf-endings')],
    ['csv-line-endings', malformed('mixed-endings')],
    ['csv-utf8', malformed('invalid-utf8')],
    ['csv-quoting', malformed('missing-field')],
    ['csv-types', malformed('cost-exponent')],
    ['csv-types', malformed('unit-unknown')],
    ['csv-invoice-id', malformed('foreign-invoice-id')],
    ['accepts-200', { name: 'execute-then-drop', target: { endpoint: 'delivery' } }],
    ['accepts-204', { name: 'duplicate' }],
    ['no-third-attempt', { name: 'duplicate' }],
    ['at-once', { name: 'delay', params: { delayMs: 3_200 } }],
    ['ping', at('unauthorized', 'ping')],
    ['ping', at('redirect', 'ping')],
    ['details', at('html-body', 'details')],
    ['export-csv', at('server-error', 'export-csv')],
    ['range', at('gzip', 'storage')],
  ];
  test.each(cases)('%s is broken by %j', async (rule, fault) => {
    const sandbox = await start(QUICK);
    sandbox.faults.add(fault);
    expect(await rowsOf({ target: targetOf(sandbox) }, rule)).toMatchObject([{ id: rule, verdict: 'fail' }]);
  });
});

describe('an answer that lies breaks its rule', () => {
  const onCall =
    (pattern: RegExp, change: (body: string, status: number) => { status?: number; body?: string }): Lie =>
    (call, answer) =>
      pattern.test(call) ? { ...answer, ...change(answer.body, answer.status) } : null;
  const cases: readonly (readonly [rule: string, lie: Lie])[] = [
    ['ping', onCall(/ping$/, (body) => ({ body: body.replace('pong', 'pang') }))],
    ['token-fields', onCall(/oauth/, (body) => ({ body: body.replace('"userId"', '"user"') }))],
    ['token-fields', onCall(/oauth/, (body) => ({ body: body.replace('"bearer"', '"mac"') }))],
    ['token-call', onCall(/oauth/, () => ({ status: 201 }))],
    ['wrong-grant', onCall(/oauth/, (_, status) => ({ status: status === 400 ? 500 : status }))],
    ['wrong-credentials', onCall(/oauth/, (_, status) => ({ status: status === 401 ? 200 : status }))],
    ['truncated-token', onCall(/ping$/, (body) => ({ body: body.replace('invalid_token', 'oops') }))],
    ['foreign-token', onCall(/ping$/, (body) => ({ body: body.replace('error_description', 'text') }))],
    ['unauthorized-ping', onCall(/ping$/, () => ({ status: 200 }))],
    ['unauthorized-details', onCall(/GET .*invoices/, () => ({ status: 403 }))],
    ['regenerate-unknown', onCall(/regenerate/, () => ({ status: 200 }))],
    ['regenerate-draft', onCall(/regenerate/, () => ({ status: 400 }))],
    [
      'regenerate-bad-request',
      onCall(/regenerate/, (_, status) => ({ status: status === 400 ? 422 : status })),
    ],
    ['version-segment', onCall(/v2/, () => ({ status: 200 }))],
    ['details', onCall(/invoices\/[^/]+$/, (body) => ({ body: body.replace(/,\{"shipDate".*$/, ']}') }))],
    ['export-csv', onCall(/export-csv$/, (body) => ({ body: body.replace(/\r\n[^\r]+\r\n$/, '\r\n') }))],
    ['api-key', onCall(/ping$/, () => ({ status: 401 }))],
    ['api-key-deactivated', onCall(/ping$/, () => ({ status: 200 }))],
    ['draft-approve', onCall(/\/approve$/, () => ({ status: 200, body: '{"status":"APPROVED"}' }))],
    ['approved-cancel', onCall(/\/cancel$/, (body) => ({ body: body.replace('CANCELED', 'APPROVED') }))],
    ['https-only', onCall(/POST .*registrations$/, () => ({ status: 201, body: '{"registrationId":"1"}' }))],
    ['summary-list', onCall(/GET .*registrations$/, () => ({ body: '[]' }))],
    [
      'logged-not-requeued',
      onCall(/deliveries/, (body) => ({ body: body.replaceAll('"failed"', '"delivered"') })),
    ],
    ['no-auto-approve', onCall(/\/run$/, (body) => ({ body: body.replace('"DRAFT"', '"APPROVED"') }))],
    [
      'partner-id',
      onCall(/oauth/, (body) => ({ body: body.replace(/"partnerId":"[^"]+/, '"partnerId":"other') })),
    ],
  ];
  test.each(cases)('%s is broken by lie %#', async (rule, lie) => {
    const sandbox = await start(QUICK);
    const proxy = await startLyingProxy({ url: sandbox.baseUrl, caPem: sandbox.caPem }, lie);
    closers.push(() => proxy.close());
    const target = {
      ...targetOf(sandbox),
      baseUrl: proxy.url,
      authUrl: proxy.url,
      adminUrl: `${proxy.url}/admin`,
      caPem: `${proxy.caPem}\n${sandbox.caPem}`,
    };
    if (rule === 'token-call') expect(await callForToken(target)).toBe('refused');
    else expect(await rowsOf({ target }, rule)).toMatchObject([{ id: rule, verdict: 'fail' }]);
  });
});

test('a real account without an invoice to read has those rules skipped', async () => {
  const sandbox = await start(QUICK);
  const rows = await rowsOf({ target: { ...targetOf(sandbox), adminUrl: null } }, 'csv-header', 'details');
  const isSkipped = { verdict: 'skipped', seen: expect.stringContaining('--invoice') };
  expect(rows).toMatchObject([isSkipped, isSkipped]);
});

async function start(options: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  closers.push(() => sandbox.close());
  return sandbox;
}

function targetOf(sandbox: Sandbox): Target {
  const { baseUrl, authUrl, clientId, clientSecret, apiKey, caPem, adminUrl } = sandbox;
  return { baseUrl, authUrl, clientId, clientSecret, apiKey, caPem, adminUrl };
}

async function open(options: OpenContextOptions) {
  const { context, close } = await openSuiteContext({
    responseLimitMs: 800,
    briefDelayMs: 3_000,
    ...options,
  });
  closers.push(close);
  return context;
}

async function rowsOf(options: OpenContextOptions, ...only: string[]): Promise<Row[]> {
  return runSuite(await open(options), { only });
}

async function callForToken(target: Target): Promise<string> {
  const context = await open({ target });
  return runSuite(context, { only: ['token-call'] }).then(
    () => 'checked',
    () => 'refused',
  );
}
