/** With an endpoint set, one trace covers an event from its delivery to its publication, without a secret. */

import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { openArchive } from '../../archive/open-archive.ts';
import { createScrub } from '../../lib/log/scrub.ts';
import { activeTracing, startTracing } from '../../lib/temporal/tracing.ts';
import type { InvoiceEvent } from '../../lib/wire/invoice-event.ts';
import { parseDelivery } from '../../lib/wire/parse-delivery.ts';
import { forwardEntry } from '../../webhook/forward-entry.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { sendInvoiceEvent } from '../../workflows/client/invoice-client.ts';
import { eventually } from '../support/eventually.ts';
import { listen } from '../support/listen.ts';
import { aRig, type Rig } from './rig.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function aCollector(statusCode = 200) {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(statusCode, { 'content-type': 'application/json' }).end('{}');
    });
  });
  servers.push(server);
  const url = `http://127.0.0.1:${await listen(server)}`;
  const spans = (): Span[] =>
    bodies.flatMap((body) =>
      (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }).resourceSpans.flatMap(
        ({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans),
      ),
    );
  return { url, bodies, spans };
}

async function forwardAll(rig: Rig): Promise<readonly InvoiceEvent[]> {
  const { settings, route, temporal } = rig;
  const inbox = await openInbox(join(rig.dataDir, 'inbox'));
  const quarantine = await openQuarantine(join(rig.dataDir, 'inbox', 'quarantine'));
  const archive = await openArchive(settings);
  const sent: InvoiceEvent[] = [];
  const deps = {
    ...{ settings, inbox, archive, quarantine, partnerIds: () => [] },
    async send(event: InvoiceEvent) {
      await temporal.run((client) => sendInvoiceEvent(client, route, event));
      sent.push(event);
    },
  };
  for (const body of rig.service.events) {
    const parsed = parseDelivery(Buffer.from(body), { wirePrefix: settings.wirePrefix });
    if (parsed.kind !== 'event') throw new Error(`The service sent something else: ${parsed.kind}`);
    const { eventId, invoice } = parsed.event;
    const at = { receivedAt: new Date().toISOString(), invoiceId: invoice.invoiceId };
    await inbox.accept({ kind: 'event', eventId, code: null, ...at }, Buffer.from(body));
  }
  const pending = await inbox.pending();
  expect(pending).toHaveLength(rig.service.events.length);
  for (const entry of pending) expect(await forwardEntry(entry, deps)).toBe('sent');
  await archive.close();
  return sent;
}

// Libraries get their tracer once per process, so only the first tracing of a process has all spans.
describe('tracing', { shuffle: false }, () => {
  test('traces an event from its delivery to the publication without secrets', async () => {
    const collector = await aCollector();
    const rig = await aRig({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const lines: unknown[] = [];
    const log = { info: () => {}, warn: (line: unknown) => lines.push(line) } as never;
    const { settings } = rig;
    const tracing = await startTracing({ settings, role: 'up', log, scrub: createScrub(settings) });
    try {
      await rig.startTemporal();
      const worker = await rig.startWorker();
      await worker.ready;
      const { invoiceId } = await rig.service.createInvoice();
      await rig.service.finalize(invoiceId);
      const events = await forwardAll(rig);
      await eventually(async () => (await worker.warehouse.invoice(invoiceId))?.state === 'loaded');
      const named = (part: string) => collector.spans().find(({ name }) => name.includes(part));
      await eventually(() => named('publication') !== undefined);
      const trace = named('publication')?.traceId;
      const ofTrace = () => collector.spans().filter((span) => span.traceId === trace);
      // Each lies below another of the trace, up to the delivery; a workflow's own is sent when it has ended.
      const tops = (): readonly string[] => {
        const ids = new Set(ofTrace().map(({ spanId }) => spanId));
        return ofTrace().flatMap(({ name, parentSpanId = '' }) => (ids.has(parentSpanId) ? [] : [name]));
      };
      await vi.waitFor(() => expect(tops()).toEqual(['delivery']), 60_000);
      const names = ofTrace().map(({ name }) => name.split(':')[0]);
      expect(names).toEqual(
        expect.arrayContaining(['delivery', 'RunWorkflow', 'RunActivity', 'publication']),
      );
      expect(ofTrace().some(({ name }) => name === 'RunActivity:downloadCsv')).toBe(true);
      const kinds = collector.bodies.flatMap((body) => [...body.matchAll(/"value":(\{\}|\{"kvlistValue")/g)]);
      expect(kinds).toEqual([]);
      const secrets = [
        settings.service.clientSecret,
        ...events.map(({ export: location }) => new URL(location?.presignedUrl ?? 'https://x').search),
      ].filter((secret) => secret !== null && secret !== '');
      expect(secrets.length).toBeGreaterThan(1);
      for (const secret of secrets) expect(collector.bodies.join('')).not.toContain(secret);
    } finally {
      await rig.close();
      await tracing?.close();
    }
    expect(activeTracing()).toBeNull();
    expect(lines).toEqual([]);
  });

  test('reports a failing collector and continues', async () => {
    const { url: otlpEndpoint } = await aCollector(400);
    const warned: string[] = [];
    const log = { info: () => {}, warn: (_: unknown, message: string) => warned.push(message) } as never;
    const settings = { otlpEndpoint, environment: 'test' } as const;
    const tracing = await startTracing({ settings, role: 'webhook', log, scrub: String });
    const delivery = { eventId: 'e', eventType: 'invoice_created', invoiceId: 'i' };
    const traced = { ...delivery, receivedAt: new Date().toISOString() };
    expect(await tracing?.delivered(traced, async () => 'forwarded')).toBe('forwarded');
    await tracing?.close();
    expect(warned).toEqual(['the collector did not accept spans', 'the last spans were not sent']);
  });
});
