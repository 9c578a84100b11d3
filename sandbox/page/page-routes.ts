/** Works without scripts; a form is answered with a redirect, so a reload repeats nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Account, Connection } from '../account.ts';
import { RefusalError } from '../refusal.ts';
import { type AdminAccess, thisMachineOnly } from '../security/this-machine-only.ts';
import { Form } from './form.ts';
import { type Page, renderPage } from './render.ts';
import type { PageRequest, Route } from './section.ts';
import { deliverySection } from './sections/deliveries.ts';
import { faultSection } from './sections/faults.ts';
import { invoiceSection } from './sections/invoices.ts';
import { overviewSection } from './sections/overview.ts';
import { scheduleSection } from './sections/schedules.ts';
import { webhookSection } from './sections/webhooks.ts';

export interface AccountRoutes {
  readonly account: Account;
  readonly connection: () => Connection;
  readonly access: AdminAccess;
}

const ROUTES: readonly Route[] = [
  ...overviewSection,
  ...invoiceSection,
  ...webhookSection,
  ...scheduleSection,
  ...deliverySection,
  ...faultSection,
];

/** Addresses contain the key, never the sentence. */
const NOTICES: Readonly<Record<string, string>> = {
  generated: 'The invoice was generated.',
  submitted: 'The invoice waits for approval. No event is emitted for that.',
  approved: 'The invoice is approved and invoice_finalized was emitted.',
  unexported: 'The invoice is approved, its export failed, and no event was emitted.',
  canceled: 'The invoice is canceled and invoice_voided was emitted.',
  repaired: 'The invoice was exported again, rightly. No event is emitted for that.',
  seeded: 'Invoices of every tenant in every status were generated.',
  'webhook-added': 'The webhook is registered and inactive. Send a test payload, then enable it.',
  'webhook-saved': 'The webhook was changed.',
  'webhook-enabled': 'The webhook is active.',
  'webhook-disabled': 'The webhook is inactive.',
  'webhook-deleted': 'The webhook was deleted.',
  'test-sent': 'A test payload is on its way; the delivery log shows the answer.',
  'schedule-added': 'The schedule was created.',
  'schedule-saved': 'The schedule was changed.',
  'schedule-run': 'The schedule generated its invoices.',
  'schedule-deleted': 'The schedule was deleted; its invoices stay.',
  resent: 'The event is delivered once more.',
  'fault-on': 'The fault is switched on.',
  'fault-off': 'The fault is switched off.',
  'faults-off': 'All faults are switched off.',
};

const ASSETS = [
  { file: 'page.css', type: 'text/css; charset=utf-8' },
  { file: 'page.js', type: 'text/javascript; charset=utf-8' },
] as const;
const TABLER = fileURLToPath(import.meta.resolve('@tabler/core/dist/css/tabler.min.css'));
const KIT = gzipSync(withDarkScheme(readFileSync(TABLER, 'utf8')));

/** The kit's dark rules need an attribute that a script would have to set; these follow the system without one. */
function withDarkScheme(css: string): string {
  const rules = [...css.matchAll(/([^{}]+)\{([^{}]*)\}/g)].flatMap(
    ([, selectors = '', declarations = '']) => {
      const dark = selectors.split(',').filter((selector) => selector.startsWith('[data-bs-theme=dark]'));
      if (dark.length === 0 || selectors.startsWith(':root')) return [];
      return `${dark.join(',').replaceAll('[data-bs-theme=dark]', ':root')}{${declarations}}`;
    },
  );
  return `${css}\n@media screen and (prefers-color-scheme: dark){${rules.join('')}}`;
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function pageRoutes(app: FastifyInstance, options: AccountRoutes): void {
  const base = app.prefix;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 1024 * 1024 },
    (_request, body, done) => done(null, body),
  );
  app.addHook('onRequest', thisMachineOnly(options.access));
  app.addHook('onRequest', async (request, reply) => {
    secure(reply);
    if (request.method === 'POST') refuseForeignForm(request);
  });
  app.addHook('onSend', async () => options.account.store.flush());
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) =>
    sendPage(reply, errorPage(error), { request, base, options, status: statusOf(error) }),
  );
  for (const { file, type } of ASSETS) {
    const content = readFileSync(join(import.meta.dirname, 'assets', file));
    app.get(`/page/${file}`, (_request, reply) => reply.type(type).send(content));
  }
  app.get('/page/kit.css', (_request, reply) =>
    reply
      .type('text/css; charset=utf-8')
      .headers({ 'content-encoding': 'gzip', 'cache-control': 'private, max-age=86400' })
      .send(KIT),
  );
  for (const route of ROUTES) addRoute(app, route, { base, options });
}

interface Place {
  readonly base: string;
  readonly options: AccountRoutes;
}

function addRoute(app: FastifyInstance, route: Route, place: Place): void {
  if ('get' in route) {
    app.get(route.get, async (request, reply) => {
      const page = await route.show(requestOf(request, place));
      return sendPage(reply, page, { ...place, request, status: 200 });
    });
    return;
  }
  app.post(route.post, async (request, reply) => {
    const own = requestOf(request, place);
    try {
      return reply.redirect(`${place.base}${await route.act(own)}`, 303);
    } catch (error) {
      if (!(error instanceof RefusalError) || route.again === null) throw error;
      const page = await route.again({ ...own, typed: own.form.typed() });
      return sendPage(reply, page, { ...place, request, status: error.httpStatus, problem: error.message });
    }
  });
}

function requestOf(request: FastifyRequest, { options }: Place): PageRequest {
  return {
    account: options.account,
    connection: options.connection(),
    params: request.params as Record<string, string>,
    query: new Form(request.url.split('?')[1] ?? ''),
    form: new Form(request.body),
    typed: {},
  };
}

interface Sending extends Place {
  readonly request: FastifyRequest;
  readonly status: number;
  readonly problem?: string;
}

function sendPage(
  reply: FastifyReply,
  page: Page,
  { request, base, options, status, problem = '' }: Sending,
) {
  const done = new Form(request.url.split('?')[1] ?? '').text('done');
  const html = renderPage(page, {
    base,
    account: options.account,
    notice: request.method === 'GET' ? (NOTICES[done] ?? null) : null,
    problem: problem === '' ? null : problem,
  });
  return reply.code(status).type('text/html; charset=utf-8').send(html);
}

function secure(reply: FastifyReply): void {
  reply.headers({
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'x-content-type-options': 'nosniff',
    // A stricter policy would suppress the origin of forms.
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'cache-control': 'no-store',
  });
}

/** Browsers send the origin of every form; scripts and commands have the admin API. */
function refuseForeignForm({ headers }: FastifyRequest): void {
  if (headers.origin === `https://${headers.host}`) return;
  throw Object.assign(new Error('This form was not sent by a page of the sandbox.'), { statusCode: 403 });
}

function statusOf(error: Error & { statusCode?: number }): number {
  return error instanceof RefusalError ? error.httpStatus : (error.statusCode ?? 500);
}

function errorPage(error: Error & { statusCode?: number }): Page {
  const status = statusOf(error);
  const title = status === 404 ? 'No such page' : status < 500 ? 'Refused' : 'Something went wrong';
  return { view: 'error', title, section: 'overview', data: { message: error.message, status } };
}
