import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Account } from '../account.ts';
import { detailsHead, detailsLineItem, errorBody, exportCsvHeaders } from '../choices.ts';
import type { Place } from '../faults/fault-catalogue.ts';
import type { Moment } from '../faults/faults.ts';
import type { Invoice } from '../model.ts';
import { type Answer, answer, json, problem } from './answer.ts';
import { guarded, issueToken } from './callers.ts';

export interface ApiRoutesOptions {
  readonly account: Account;
  readonly wirePrefix: string;
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

export function apiRoutes(app: FastifyInstance, { account, wirePrefix }: ApiRoutesOptions): void {
  acceptAnyBody(app);

  const invoiceEndpoint = (
    method: 'GET' | 'POST',
    place: Place,
    path: string,
    work: (invoiceId: string) => Answer | Promise<Answer>,
  ): void =>
    endpoint(app, method, `/api/v1/billing/invoices/:invoiceId${path}`, (request, reply) => {
      const { invoiceId = '' } = request.params as { readonly invoiceId?: string };
      const moment = momentOf(account, place, invoiceId);
      return answer({ account, moment, reply }, () =>
        guarded(account, request, () => (account.hasBilling ? work(invoiceId) : withoutFeature())),
      );
    });
  endpoint(app, 'POST', '/oauth/token', (request, reply) =>
    answer({ account, moment: { place: 'token' }, reply }, () => issueToken(account, request)),
  );
  endpoint(app, 'GET', '/api/v1/deliveryexperience/ping', (request, reply) =>
    answer({ account, moment: { place: 'ping' }, reply }, () =>
      guarded(account, request, () => json(200, { status: 1, info: 'pong' })),
    ),
  );
  invoiceEndpoint('POST', 'regenerate', '/regenerate-presigned-url', (id) => regenerate(account, id));
  invoiceEndpoint('GET', 'details', '', (id) => details(account, wirePrefix, id));
  invoiceEndpoint('GET', 'export-csv', '/export-csv', (id) => exportCsv(account, id));

  app.setNotFoundHandler((request, reply) =>
    reply
      .code(404)
      .send(errorBody('not_found', `There is no ${request.method} ${request.url.replace(/\?.*$/, '')}.`)),
  );
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

function endpoint(app: FastifyInstance, method: 'GET' | 'POST', url: string, handler: Handler): void {
  const allowed = METHODS.filter((one) => one === method || (one === 'HEAD' && method === 'GET'));
  const others = METHODS.filter((one) => !allowed.includes(one));
  app.route({ method: [...allowed], url, handler });
  app.route({
    method: others,
    url,
    handler: (request, reply) =>
      reply
        .code(405)
        .header('allow', allowed.join(', '))
        .send(errorBody('method_not_allowed', `This path takes ${method}, not ${request.method}.`)),
  });
}

/** The content type is checked by the endpoint, not by the framework. */
function acceptAnyBody(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
}

/** 404 without invoice or export, 400 when no URL can be made (spec 4.3, 7). */
function regenerate(account: Account, invoiceId: string): Answer {
  const invoice = find(account, invoiceId);
  if (invoice === null) return notFound('The invoice does not exist');
  if (invoice.exports.length === 0) return notFound('The export of the invoice does not exist');
  if (invoice.status === 'CANCELED') return badRequest('invoiceId', 'the invoice is canceled');
  return json(200, account.billing.regenerate(invoiceId) ?? {});
}

function details(account: Account, wirePrefix: string, invoiceId: string): Answer {
  const invoice = find(account, invoiceId);
  if (invoice === null) return notFound('The invoice does not exist');
  const partnerTenantId = account.billing.tenantOf(invoice)?.partnerTenantId ?? null;
  const head = JSON.stringify(detailsHead({ invoice, partnerTenantId, wirePrefix }));
  return { ...json(200, ''), body: detailsChunks(account, invoice, head) };
}

const CHUNK_CHARACTERS = 32 * 1024;

function* detailsChunks(account: Account, invoice: Invoice, head: string): Generator<Buffer> {
  let text = `${head.slice(0, -1)},"lineItems":[`;
  let separator = '';
  for (const row of account.billing.rows(invoice)) {
    text += `${separator}${JSON.stringify(detailsLineItem(row, invoice.currencyCode))}`;
    separator = ',';
    if (text.length < CHUNK_CHARACTERS) continue;
    yield Buffer.from(text);
    text = '';
  }
  yield Buffer.from(`${text}]}`);
}

/**
 * Serves the CSV without a presigned URL, for a client that has missed the event: the invoice must be approved but needs no export
 * (spec 4.5).
 */
function exportCsv(account: Account, invoiceId: string): Answer {
  const invoice = find(account, invoiceId);
  if (invoice === null) return notFound('The invoice does not exist');
  const wasApproved = invoice.history.some(({ status }) => status === 'APPROVED');
  if (!wasApproved) return notFound(`The invoice is ${invoice.status} and has no CSV yet`);
  const file = invoice.exports.at(-1) ?? invoice.file;
  return {
    status: 200,
    headers: exportCsvHeaders(invoice),
    body: account.billing.exports.read(invoice, file),
    length: file.sizeBytes,
  };
}

function find({ store }: Account, invoiceId: string): Invoice | null {
  return store.get('invoice', invoiceId.toLowerCase()) ?? null;
}

function momentOf(account: Account, place: Place, invoiceId: string): Moment {
  const invoice = find(account, invoiceId);
  return invoice === null ? { place, invoiceId } : account.billing.moment(place, invoice);
}

function notFound(description: string): Answer {
  return problem(404, 'not_found', description);
}

/** The answer for an account without the billing feature, whose shape the spec leaves open (spec 1). */
function withoutFeature(): Answer {
  return problem(403, 'forbidden', 'The billing feature is not enabled for this account');
}

function badRequest(field: string, issue: string): Answer {
  return json(
    400,
    errorBody('invalid_request', `The URL could not be regenerated: ${issue}`, [{ field, issue }]),
  );
}
