/**
 * A second billing service, read from the specification once more and by nobody who wrote the first: another maker's
 * prefix, a private CA, tokens that live three seconds and end in `=`, secrets full of `+/=:`, and no patience with a
 * client that bends the rules. It and its parts import nothing of ours, so that agreement with it proves something.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ForeignBilling,
  type ForeignExport,
  type ForeignInvoice,
  type NewForeignInvoice,
  SIGNATURE_MARK,
  type StoredInvoice,
} from './foreign-billing.ts';
import type { ForeignRow } from './foreign-rows.ts';
import {
  type Complaint,
  type ForeignQuirk,
  type ForeignRoute,
  ForeignServer,
  TOKEN_MARK,
} from './foreign-server.ts';
import { type ForeignEndpoint, makeCertificates, post, readBody, stop } from './foreign-wire.ts';

export type { ForeignAsk, ForeignQuirk, ForeignRoute } from './foreign-server.ts';
export type { ForeignInvoice };

export interface ForeignServiceOptions {
  readonly wirePrefix?: string;
  readonly tokenLifetimeSeconds?: number;
  readonly urlLifetimeSeconds?: number;
  /** First bytes of its ids and amounts. */
  readonly seed?: number;
}

export interface ForeignService {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly caFile: string;
  readonly caPem: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly partnerId: string;
  readonly storageHost: string;
  /** Where events go from here on, with these headers; one retry after a moment (spec 8). */
  register(endpoint: ForeignEndpoint): void;
  createInvoice(wanted?: NewForeignInvoice): Promise<ForeignInvoice>;
  finalize(invoiceId: string): Promise<ForeignInvoice>;
  void(invoiceId: string): Promise<ForeignInvoice>;
  /** Sends an event's exact text to the registered endpoint (again); its last status, 0 without an answer. */
  deliver(eventText: string): Promise<number>;
  /** Texts of all events so far, in order. */
  readonly events: readonly string[];
  /** Every row of invoices that count: approved, not cancelled. */
  billedRows(): readonly ForeignRow[];
  /** Must be empty at the end of a test. */
  readonly complaints: readonly Complaint[];
  readonly tokensGiven: () => number;
  /** Which endpoints were asked so far, in order. */
  readonly asked: readonly ForeignRoute[];
  /** From here on an endpoint answers so; null: as usual again. */
  play(route: ForeignRoute, quirk: ForeignQuirk | null): void;
  /** What nobody may keep: its client secret, and a text that every token, every presigned query holds. */
  readonly secrets: readonly string[];
  /** Every presigned URL handed out so far is dead from now on. */
  expireUrls(): void;
  /** The 2.7 fields of an invoice as a regenerate call would give them. */
  exportOf(invoiceId: string): ForeignExport;
  close(): Promise<void>;
}

const CLIENT = { clientId: 'partner/one+two=', clientSecret: 's+e/c=r:e t%2B&ü==' };

export async function startForeignService({
  wirePrefix = 'acme',
  tokenLifetimeSeconds = 3,
  urlLifetimeSeconds = 24 * 3_600,
  seed = 1,
}: ForeignServiceOptions = {}): Promise<ForeignService> {
  const folder = await mkdtemp(join(tmpdir(), 'foreign-service-'));
  const { caPem, certPem, keyPem } = await makeCertificates();
  const caFile = join(folder, 'private-ca.pem');
  await writeFile(caFile, caPem);

  const billing = new ForeignBilling({ wirePrefix, urlLifetimeSeconds, seed });
  const door = new ForeignServer(billing, { ...CLIENT, tokenLifetimeSeconds });
  const server = createServer({ key: keyPem, cert: certPem }, (request, response) => {
    readBody(request)
      .then((body) => door.answer(request, body, response))
      .catch((error: unknown) => {
        door.complaints.push(`the foreign service itself failed: ${String(error)}`);
        response.writeHead(500).end();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  billing.origin = `https://localhost:${(server.address() as AddressInfo).port}`;

  let endpoint: ForeignEndpoint | null = null;
  let agent: Agent | false = false;
  function register(to: ForeignEndpoint): void {
    endpoint = to;
    if (agent !== false) agent.destroy();
    agent = to.keepsConnections === true ? new Agent({ keepAlive: true }) : false;
  }
  async function deliver(eventText: string): Promise<number> {
    if (endpoint === null) return 0;
    const first = await post(endpoint, eventText, agent);
    if (first >= 200 && first < 300) return first;
    await new Promise((resolve) => setTimeout(resolve, 200));
    return post(endpoint, eventText, agent);
  }
  async function emit(invoice: StoredInvoice, eventType: string, more: object = {}): Promise<ForeignInvoice> {
    const status = { DRAFT: 'draft', APPROVED: 'finalized', CANCELED: 'voided' }[invoice.status];
    await deliver(billing.tell(invoice, eventType, { status, more }));
    return invoice;
  }

  return {
    ...{ ...CLIENT, caFile, caPem, partnerId: billing.partnerId },
    ...{ baseUrl: `${billing.origin}/rest`, authUrl: `${billing.origin}/auth` },
    storageHost: new URL(billing.origin).host,
    register,
    createInvoice: (wanted) => emit(billing.create(wanted), 'invoice_created'),
    async finalize(invoiceId) {
      const invoice = billing.get(invoiceId);
      invoice.status = 'APPROVED';
      return emit(invoice, 'invoice_finalized', billing.exportOf(invoiceId));
    },
    async void(invoiceId) {
      const invoice = billing.get(invoiceId);
      invoice.status = 'CANCELED';
      return emit(invoice, 'invoice_voided');
    },
    ...{ deliver, events: billing.events, complaints: door.complaints },
    exportOf: (invoiceId) => billing.exportOf(invoiceId),
    billedRows: () => billing.billedRows(),
    tokensGiven: () => door.tokensGiven,
    asked: door.asked,
    play(route, quirk) {
      if (quirk === null) door.quirks.delete(route);
      else door.quirks.set(route, quirk);
    },
    secrets: [CLIENT.clientSecret, TOKEN_MARK, SIGNATURE_MARK],
    expireUrls: () => billing.expireUrls(),
    async close() {
      if (agent !== false) agent.destroy();
      await stop(server);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
