/** With an endpoint set, one trace tells of an event's whole way, and no span tells a secret. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { createScrub } from '../../ops/scrub.js';
import { activeTracing, startTracing } from '../../temporal/tracing.js';
import { eventually } from '../support/eventually.js';
import { aRig } from './rig.js';

interface Span {
  readonly traceId: string;
  readonly name: string;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** Keeps what is posted, as a collector would. */
async function aCollector() {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString());
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const spans = (): Span[] =>
    bodies.flatMap((body) =>
      (JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] }).resourceSpans.flatMap(
        ({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans),
      ),
    );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, spans };
}

describe('tracing', () => {
  test('is off without an endpoint', async () => {
    const rig = await aRig();
    const log = { info: () => {}, warn: () => {} } as never;
    expect(await startTracing({ settings: rig.settings, role: 'worker', log, scrub: String })).toBeNull();
    expect(activeTracing()).toBeNull();
    await rig.close();
  });

  test('tells of an event from its signal to its rows in one trace, without secrets', async () => {
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
      const events = await rig.forward();
      await eventually(async () => (await worker.warehouse.invoice(invoiceId))?.state === 'loaded');
      const named = (part: string) => collector.spans().find(({ name }) => name.includes(part));
      await eventually(() => named('RunActivity:downloadCsv') !== undefined);
      const trace = named('RunActivity:downloadCsv')?.traceId;
      const names = collector.spans().flatMap((span) => (span.traceId === trace ? [span.name] : []));
      expect(names.some((name) => /SignalWithStart/.test(name))).toBe(true);
      expect(names).toEqual(expect.arrayContaining(['RunActivity:recordEvent', 'RunActivity:downloadCsv']));
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
});
