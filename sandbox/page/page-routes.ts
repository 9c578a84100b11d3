/**
 * One page: how to connect a client, the invoices with their next step, and the deliveries. All else is the admin API, which has an
 * interactive page of its own. It works without scripts; a form is answered with a redirect, so a reload repeats nothing.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { Eta } from 'eta';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Account, Connection } from '../account.ts';
import { RefusalError } from '../refusal.ts';
import { seedInvoices } from '../sandbox-account.ts';
import { type AdminAccess, thisMachineOnly } from '../security/this-machine-only.ts';

export interface AccountRoutes {
  readonly account: Account;
  readonly connection: () => Connection;
  readonly access: AdminAccess;
}

const SEEDED_INVOICES = 12;
const PAGE_SIZE = 50;

/** Addresses contain the key, never the sentence. */
const NOTICES: Readonly<Record<string, string>> = {
  seed: 'Invoices of every tenant in every status were generated.',
  submit: 'The invoice waits for approval. No event is emitted for that.',
  approve: 'The invoice is approved and invoice_finalized was emitted.',
  cancel: 'The invoice is canceled and invoice_voided was emitted.',
  resend: 'The event is delivered once more.',
};

const eta = new Eta({ views: import.meta.dirname, cache: true, autoTrim: false });
const TABLER = fileURLToPath(import.meta.resolve('@tabler/core/dist/css/tabler.min.css'));
const assetNamed = (file: string) => readFileSync(join(import.meta.dirname, file), 'utf8');
const CSS = gzipSync(withDarkScheme(readFileSync(TABLER, 'utf8')) + assetNamed('page.css'));
const SCRIPT = assetNamed('page.js');

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

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  // A stricter policy would suppress the origin of forms.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

export function pageRoutes(app: FastifyInstance, options: AccountRoutes): void {
  const { account, access } = options;
  const { billing, store } = account;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/x-www-form-urlencoded', (_request, body, done) => {
    body.resume();
    done(null);
  });
  app.addHook('onRequest', thisMachineOnly(access));
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    if (request.method === 'POST') refuseForeignForm(request);
  });
  app.addHook('onSend', async () => store.flush());
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    const status = error instanceof RefusalError ? error.httpStatus : (error.statusCode ?? 500);
    return sendPage(reply.code(status), { ...options, request, problem: error.message });
  });

  app.get('/', (request, reply) => sendPage(reply, { ...options, request, problem: null }));
  for (const [name, type, content] of [
    ['page.css', 'text/css; charset=utf-8', CSS],
    ['page.js', 'text/javascript; charset=utf-8', gzipSync(SCRIPT)],
  ] as const) {
    app.get(`/page/${name}`, (_request, reply) =>
      reply
        .type(type)
        .headers({ 'content-encoding': 'gzip', 'cache-control': 'private, max-age=3600' })
        .send(content),
    );
  }

  const action = (path: string, act: (id: string) => Promise<unknown> | unknown): void => {
    app.post<{ Params: { id?: string } }>(path, async ({ params }, reply) => {
      await act(params.id ?? '');
      return reply.redirect(`${app.prefix}/?done=${path.split('/').at(-1)}`, 303);
    });
  };
  action('/seed', () => seedInvoices(account, SEEDED_INVOICES));
  action('/invoices/:id/submit', (id) => billing.submit(id));
  action('/invoices/:id/approve', (id) => {
    if (billing.invoice(id).status === 'DRAFT') billing.submit(id);
    return billing.approve(id);
  });
  action('/invoices/:id/cancel', (id) => billing.cancel(id));
  action('/deliveries/:id/resend', (id) => {
    const delivery = store.get('delivery', id);
    if (delivery === undefined) throw new RefusalError('not_found', `There is no delivery "${id}".`);
    billing.resend(delivery.eventId, delivery.registrationId);
  });
}

/** Browsers send the origin of every form; scripts and commands have the admin API. */
function refuseForeignForm({ headers }: FastifyRequest): void {
  if (headers.origin === `https://${headers.host}`) return;
  throw Object.assign(new Error('This form was not sent by the page of the sandbox.'), { statusCode: 403 });
}

interface Shown extends AccountRoutes {
  readonly request: FastifyRequest;
  readonly problem: string | null;
}

function sendPage(reply: FastifyReply, { account, connection, request, problem }: Shown) {
  const { billing, deliveries, environment, partner } = account;
  const query = new URLSearchParams(request.url.split('?')[1] ?? '');
  const of = (name: string): number => Math.max(1, Math.floor(Number(query.get(name)) || 1));
  const notice = request.method === 'GET' ? (NOTICES[query.get('done') ?? ''] ?? null) : null;
  const invoices = newest(billing.invoices(), of('invoices'));
  const log = newest(deliveries.list(), of('deliveries'));
  const html = eta.render('./page', {
    ...{ environment, partner, notice, problem, connection: connection(), log, badge },
    base: environment === 'production' ? '/production' : '',
    invoices: {
      ...invoices,
      items: invoices.items.map((one) => ({ ...one, tenant: billing.tenantOf(one)?.name ?? partner.name })),
    },
    numberOf: (id: string) => account.store.get('invoice', id)?.invoiceNumber ?? '–',
  });
  return reply.type('text/html; charset=utf-8').header('cache-control', 'no-store').send(html);
}

function newest<T>(items: readonly T[], page: number) {
  const end = items.length - (page - 1) * PAGE_SIZE;
  const found = items.slice(Math.max(0, end - PAGE_SIZE), Math.max(0, end)).reverse();
  return { items: found, total: items.length, page, pages: Math.max(1, Math.ceil(items.length / PAGE_SIZE)) };
}

const COLORS: Readonly<Record<string, string>> = {
  ...{ DRAFT: 'yellow', PENDING_APPROVAL: 'azure', APPROVED: 'green', CANCELED: 'secondary' },
  ...{ pending: 'yellow', delivered: 'green', failed: 'red', dropped: 'secondary' },
};

function badge(state: string): string {
  return `<span class="badge bg-${COLORS[state] ?? 'secondary'}-lt">${state.toLowerCase().replace('_', ' ')}</span>`;
}
