import { setTimeout as sleep } from 'node:timers/promises';
import { openArchive } from '../../archive/open-archive.ts';
import type { BillingService } from '../../billing/billing-service.ts';
import { createBillingService } from '../../billing/client.ts';
import { startProbes } from '../../dashboard/probes.ts';
import { requireService, type Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { clockCheck, refuseWrongClock } from '../../lib/health/clocks.ts';
import { certificateCheck } from '../../lib/health/expiry-checks.ts';
import { startChecks } from '../../lib/health/health.ts';
import type { Logger } from '../../lib/log/log.ts';
import { temporalTarget } from '../../lib/temporal/connect.ts';
import { claimDataFolder } from '../../warehouse/data-folder.ts';
import type { ForwardDeps } from '../../webhook/forward-entry.ts';
import { startForwarder } from '../../webhook/forwarder.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine, reportDropped } from '../../webhook/inbox/quarantine.ts';
import { startWebhook } from '../../webhook/server.ts';
import { type RoleContext, type RunningRole, startParts } from './run-role.ts';
import { endpointCheck } from './watch-endpoint.ts';

/** The endpoint starts first, because deliveries that it misses are lost. */
export function startWebhookAloneRole(context: RoleContext): Promise<RunningRole> {
  return startParts(async (parts) => {
    const webhook = await startWebhookRole(context);
    parts.defer(() => webhook.close());
    const checks = startChecks(context);
    parts.defer(() => checks.close());
    checks.add(endpointCheck(() => webhook.addresses.webhook ?? null, context));
    const probes = await startProbesRole(context);
    parts.defer(() => probes.close());
    return { addresses: { ...webhook.addresses, ...probes.addresses }, close: () => parts.disposeAsync() };
  });
}

export async function startWebhookRole(context: RoleContext): Promise<RunningRole> {
  const { settings, log, metrics, health, alerts } = context;
  await claimDataFolder(settings.dataDir, settings.environment);
  return startParts(async (parts) => {
    const archive = await openArchive(settings);
    parts.defer(() => archive.close());
    const service = hasService(settings) ? createBillingService({ settings, archive, log, metrics }) : null;
    if (service !== null) parts.defer(() => service.close());
    const clocks = [service?.clock, archive.clock].filter((clock) => clock !== undefined);
    await refuseWrongClock(clocks);
    const inbox = await openInbox(dataFolder(settings.dataDir).inbox);
    const quarantine = await openQuarantine(dataFolder(settings.dataDir).quarantine, {
      onDropped: reportDropped({ log, alerts }),
    });
    const partner = fetchPartner(service, context);
    parts.defer(() => partner.close());
    const temporal = linkOnDemand(settings, log);
    parts.defer(() => temporal.close());

    const shared = {
      ...context,
      inbox,
      archive,
      quarantine,
      partnerIds: partner.ids,
      onFatal: context.fatal,
    };
    const forwarder = startForwarder({ ...shared, send: temporal.send });
    parts.defer(() => forwarder.close());
    const server = await startWebhook(shared);
    parts.defer(() => server.close());
    temporal.loadSoon();
    const checks = startChecks({ log, health, alerts });
    parts.defer(() => checks.close());
    checks.add(clockCheck(clocks));
    const { tls, tlsCert, tlsKey } = settings.webhook;
    if (tls && tlsCert !== null && tlsKey !== null) {
      const check = certificateCheck(
        'certificate',
        { setting: 'BILLSYNC_WEBHOOK_TLS_CERT', path: tlsCert },
        { key: { setting: 'BILLSYNC_WEBHOOK_TLS_KEY', path: tlsKey } },
      );
      checks.add(check);
    }
    return { addresses: { webhook: server.url }, close: () => parts.disposeAsync() };
  });
}

const LOADED_AFTER_MS = 3_000;

/** The client of Temporal takes longest to load; deliveries wait on disk meanwhile. */
function linkOnDemand(settings: Settings, log: Logger) {
  let loading: ReturnType<typeof load> | null = null;
  let timer: NodeJS.Timeout | undefined;
  async function load() {
    const [{ openTemporalLink }, { sendInvoiceEvent }] = await Promise.all([
      import('../../lib/temporal/connect.ts'),
      import('../../workflows/client/invoice-client.ts'),
    ]);
    return { link: openTemporalLink(settings, { log }), sendInvoiceEvent };
  }
  const loaded = () => (loading ??= load());
  const send: ForwardDeps['send'] = async (event) => {
    const { link, sendInvoiceEvent } = await loaded();
    await link.run((client) => sendInvoiceEvent(client, settings, event));
  };
  return {
    send,
    loadSoon() {
      timer = setTimeout(loaded, LOADED_AFTER_MS).unref();
    },
    async close() {
      clearTimeout(timer);
      await (await loading)?.link.close();
    },
  };
}

/** Requests tokens until one names the partner; until then deliveries are kept and checked later. */
function fetchPartner(service: BillingService | null, { settings, log, stopping }: RoleContext) {
  if (settings.partnerId !== null || service === null) {
    const configured = settings.partnerId === null ? [] : [settings.partnerId];
    return { ids: () => configured, close: async () => {} };
  }
  // The connection to Temporal is also closed when the role cannot start, for example because its port is taken.
  const closing = new AbortController();
  const until = AbortSignal.any([stopping, closing.signal]);
  const learning = (async () => {
    for (let waitMs = 1_000; service.partnerIds().length === 0; waitMs = Math.min(waitMs * 2, 60_000)) {
      try {
        await service.fetchToken({ signal: until });
      } catch (error) {
        log.warn({ err: error }, 'no token names the partner yet');
      }
      // A token without a partner is no error; requests without a pause would not end.
      if (service.partnerIds().length === 0) await sleep(waitMs, undefined, { signal: until });
    }
  })().catch((error: unknown) => {
    if (!until.aborted) log.error({ err: error }, 'stopped requesting tokens that name the partner');
  });
  return {
    ids: () => service.partnerIds(),
    async close() {
      closing.abort(new Error('closing'));
      await learning;
    },
  };
}

function hasService(settings: Settings): boolean {
  try {
    requireService(settings);
    return true;
  } catch {
    return false;
  }
}

/**
 * The worker owns the admin port (ADR 13); this role uses it only when Temporal is on another machine, or when the port was given to
 * this process itself, so that an address never changes its owner.
 */
async function startProbesRole(context: RoleContext): Promise<RunningRole> {
  const { settings } = context;
  const isBesideWorker = await temporalTarget(settings).then(
    ({ isLocal }) => isLocal,
    () => true,
  );
  const probes = await startProbes({
    ...context,
    admin: settings.admin,
    port: isBesideWorker && !settings.isAdminPortOwn ? null : settings.admin.port,
  });
  return { addresses: { probes: probes.url }, close: () => probes.close() };
}
