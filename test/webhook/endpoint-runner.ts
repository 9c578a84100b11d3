/**
 * The process that chaos kills: endpoint and forwarder on a data folder. It prints `ready` with its address, and ends when its parent's
 * pipe closes. Arguments: data folder, port. A line `die D2` on stdin makes it kill itself, as kill -9 does, when it next passes that
 * durable point.
 */

import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openArchive } from '../../archive/open-archive.ts';
import { createHealth } from '../../lib/health/health.ts';
import { createLogger } from '../../lib/log/log.ts';
import { createMetrics } from '../../lib/metrics.ts';
import { startForwarder } from '../../webhook/forwarder.ts';
import type { DurablePoint } from '../../webhook/inbox/inbox.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { startWebhook } from '../../webhook/server.ts';
import { PARTNER, testSettings } from './a-delivery.ts';

const [dataDir = '', port = '0'] = process.argv.slice(2);
const settings = testSettings(dataDir, { port: Number(port) });
let deadly: string | null = null;
createInterface({ input: process.stdin })
  .on('line', (line) => {
    deadly = /^die (D\d)$/.exec(line)?.[1] ?? null;
    process.stdout.write(`${JSON.stringify({ armed: deadly })}\n`);
  })
  .on('close', () => process.exit(0));
const durablePoint: DurablePoint = (name) => {
  if (name === deadly) process.kill(process.pid, 'SIGKILL');
};

const log = createLogger(settings, 'webhook', {
  write: (line) => appendFileSync(join(dataDir, 'webhook.log'), line),
});
const parts = {
  settings,
  inbox: await openInbox(join(dataDir, 'inbox'), { durablePoint }),
  archive: await openArchive(settings),
  quarantine: await openQuarantine(join(dataDir, 'inbox', 'quarantine')),
  metrics: createMetrics('webhook'),
  health: createHealth(),
  log,
  partnerIds: () => [PARTNER],
  onFatal: () => process.exit(1),
  durablePoint,
};
const webhook = await startWebhook(parts);
startForwarder({
  ...parts,
  timing: { pollMs: 200, firstBackoffMs: 100 },
  send: async (event) => appendFileSync(join(dataDir, 'sent'), `${event.eventId}\n`),
});
process.stdout.write(`${JSON.stringify({ ready: webhook.url, port: webhook.port })}\n`);
