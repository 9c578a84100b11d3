/** Builds deliveries and a whole endpoint for tests, which give only the values that matter to them. */

import { randomUUID } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { loadSettings } from '../../lib/config/load-settings.ts';
import type { Settings } from '../../lib/config/settings.ts';
import { createHealth } from '../../lib/health/health.ts';
import { createLogger } from '../../lib/log/log.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { eventually } from '../support/eventually.ts';

export const PARTNER = '11111111-1111-1111-1111-111111111111';

export interface DeliveryOver {
  readonly metadata?: Record<string, unknown>;
  readonly payload?: Record<string, unknown>;
}

/** An envelope as the service sends it (spec 2.4 to 2.7), here an invoice_finalized with a presigned URL. */
export function aDelivery(over: DeliveryOver = {}): { eventId: string; invoiceId: string; body: string } {
  const eventId = randomUUID();
  const invoiceId = randomUUID();
  const envelope = {
    metadata: {
      eventId,
      eventTimestamp: '2026-03-01T00:00:00Z',
      eventType: 'invoice_finalized',
      partnerId: PARTNER,
      payloadSchemaVersion: 'v1',
      testEvent: false,
      ...over.metadata,
    },
    payload: {
      serviceInvoiceId: invoiceId,
      partnerInvoiceId: null,
      serviceTenantId: '22222222-2222-2222-2222-222222222222',
      partnerTenantId: 'T-1',
      invoiceNumber: 'INV-1',
      invoiceStatus: 'finalized',
      invoiceStartDate: '2026-02-01',
      invoiceEndDate: '2026-02-28',
      invoiceDate: '2026-03-01',
      invoiceDueDate: '2026-03-16',
      currencyCode: 'USD',
      invoiceTotalAmount: 12.34,
      totalTransactionCount: 3,
      presignedUrl: `https://storage.example/${invoiceId}.csv?X-Amz-Signature=presigned-secret`,
      presignedUrlExpiresAt: '2026-03-02T00:00:00Z',
      fileHashSha256: 'a'.repeat(64),
      fileSizeBytes: 100,
      ...over.payload,
    },
  };
  return {
    eventId: String(envelope.metadata.eventId),
    invoiceId: String(envelope.payload.serviceInvoiceId),
    body: JSON.stringify(envelope),
  };
}

/** The default settings, with free ports and credentials. */
export function testSettings(dataDir: string, webhook: Partial<Settings['webhook']> = {}): Settings {
  const settings = loadSettings({
    cwd: dataDir,
    env: {
      ...{ BILLSYNC_DATA_DIR: dataDir, BILLSYNC_PARTNER_ID: PARTNER, BILLSYNC_OVERDUE_AFTER: '1h' },
      ...{ BILLSYNC_CLIENT_ID: 'client', BILLSYNC_CLIENT_SECRET: 'client+secret/=' },
      ...{ BILLSYNC_WEBHOOK_HOST: '127.0.0.1', BILLSYNC_WEBHOOK_PORT: '0', BILLSYNC_ADMIN_PORT: '0' },
      ...{ BILLSYNC_WEBHOOK_BASIC_AUTH: 'hook:pass:word+/=ü', LOG_LEVEL: 'trace' },
    },
  });
  return { ...settings, webhook: { ...settings.webhook, ...webhook } };
}

/** The settings of alerts, those that matter to a test given. */
export function alertSettings(given: Partial<Settings['alerts']> = {}): Settings['alerts'] {
  return { ...testSettings('/nowhere').alerts, ...given };
}

export type Parts = Awaited<ReturnType<typeof openParts>>;

/** Everything the endpoint needs, in a fresh folder. */
export async function openParts(webhook: Partial<Settings['webhook']> = {}) {
  const dataDir = await mkdtemp(join(tmpdir(), 'webhook-'));
  const settings = testSettings(dataDir, webhook);
  const logged: string[] = [];
  return {
    settings,
    inbox: await openInbox(join(dataDir, 'inbox')),
    archive: await openFolderArchive(join(dataDir, 'archive')),
    quarantine: await openQuarantine(join(dataDir, 'inbox', 'quarantine')),
    metrics: createMetrics('webhook'),
    health: createHealth(),
    log: createLogger(settings, 'webhook', { write: (line) => logged.push(line) }),
    logged,
    partnerIds: () => [PARTNER],
    onFatal: () => process.exit(1),
  };
}

export async function drained({ inbox }: Pick<Parts, 'inbox'>): Promise<void> {
  await eventually(async () => (await inbox.pending()).length === 0);
}

export const insecure = new Agent({ connect: { rejectUnauthorized: false }, connections: 64 });
export const basic = (user = 'hook', password = 'pass:word+/=ü'): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

export interface Reply {
  readonly statusCode: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly body: { readonly status?: string; readonly eventId?: string };
}

/** Sends as the service does, with the right credentials by default. */
export async function deliver(
  url: string,
  body: string | Uint8Array | null,
  options: { method?: string; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const response = await request(url, {
    method: (options.method ?? 'POST') as 'POST',
    headers: { authorization: basic(), 'content-type': 'application/json', ...options.headers },
    body,
    dispatcher: insecure,
  });
  const text = await response.body.text();
  return {
    statusCode: response.statusCode,
    headers: response.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Reply['body'],
  };
}
