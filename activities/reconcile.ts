import { createHash } from 'node:crypto';
import { getClient, heartbeat, sleep } from '@temporalio/activity';
import { type EnvironmentName, invoiceWorkflowId } from '../lib/wire/names.ts';
import type { FindGapsResult, WarehouseActivities } from '../workflows/activities.ts';
import {
  lookUpInvoice,
  retryInvoice,
  sendInvoiceEvent,
  watchInvoice,
} from '../workflows/client/invoice-client.ts';
import { confirmAnnounced } from './confirm-announced.ts';
import type { Gap, WarehouseDependencies } from './dependencies.ts';
import { heartbeatEvery } from './heartbeat.ts';

const MAX_INBOX_AGE_MS = 10 * 60_000;
const HEARTBEAT_INTERVAL_MS = 10_000;
const CONFIRM_PAUSE_MS = 2_000;

export function createReconcileActivities(
  dependencies: WarehouseDependencies,
): Pick<
  WarehouseActivities,
  'forwardInbox' | 'ingestArchive' | 'confirmAnnounced' | 'findOverdue' | 'reconcileInvoices' | 'findGaps'
> {
  const { warehouse, quarantine, service, alerts, metrics, settings } = dependencies;
  const { readGaps, forwardOverdue, now } = dependencies;
  const { environment, overdueAfter, confirmVoids } = settings;
  const route = { environment, overdueAfter, confirmVoids };
  const missing = metrics.gauge('expected_invoices_missing');
  return {
    async forwardInbox({ queues }) {
      const client = getClient();
      const { forwarded, waiting, oldestReceivedAt } = await forwardOverdue({
        send: (event) => sendInvoiceEvent(client, { ...route, queues }, event),
      });
      const ageMs = oldestReceivedAt === null ? 0 : now().getTime() - Date.parse(oldestReceivedAt);
      if (ageMs > MAX_INBOX_AGE_MS) {
        alerts.raise({
          key: 'inbox/left-behind',
          title: `${waiting} acknowledged deliveries still wait in the inbox, the oldest since ${oldestReceivedAt}`,
          detail: 'Nothing is lost. See `billsync doctor`, and whether the endpoint runs.',
        });
      } else alerts.resolve('inbox/left-behind');
      return { forwarded, waiting };
    },

    ingestArchive: () => warehouse.ingestArchive(),

    async confirmAnnounced({ queues }) {
      const client = getClient();
      const beats = heartbeatEvery(HEARTBEAT_INTERVAL_MS, heartbeat);
      const confirm = () =>
        confirmAnnounced(dependencies, (invoice) => lookUpInvoice(client, { ...route, queues }, invoice));
      try {
        // Another process may be at it; then it is asked about the rest, so that all was asked for at the end.
        while (!(await confirm())) await sleep(CONFIRM_PAUSE_MS);
      } finally {
        beats.stop();
      }
    },

    async findOverdue({ until, limit }) {
      const { recheckLoadedDays: recheckDays } = settings;
      // A refused delivery names no partner, so it counts as our own.
      const partnerId = settings.partnerId ?? service.partnerIds()[0] ?? null;
      const request = { until, limit, recheckDays, partnerId, confirmVoids };
      const { unfinished, ...others } = await warehouse.due(request);
      const open = unfinished.length === 0 ? new Set() : await openInvoices(environment);
      const unwatched = unfinished.filter(
        (invoice) => !open.has(invoiceWorkflowId({ environment, ...invoice })),
      );
      const { length: quarantined } = await quarantine.list();
      return { unwatched: unwatched.slice(0, limit), ...others, quarantined };
    },

    async reconcileInvoices({ action, invoices, queues }) {
      const client = getClient();
      for (const invoice of invoices) {
        if (action === 'watch') await watchInvoice(client, { ...route, queues }, invoice);
        else if (action === 'retry') await retryInvoice(client, { ...route, queues }, invoice, 'reconcile');
        else await lookUpInvoice(client, { ...route, queues }, invoice);
      }
      // A watched invoice has an open run from now on; the others are due again after a period.
      if (action !== 'watch' && invoices.length > 0) {
        const invoiceIds = invoices.map(({ invoiceId }) => invoiceId);
        await warehouse.recordServiceCheck(invoiceIds, now().toISOString());
      }
    },

    async findGaps({ reported }) {
      const gaps = await readGaps();
      for (const kind of ['period', 'overdue', 'number'] as const) {
        const ofKind = gaps.filter((gap) => gap.kind === kind);
        missing.set(
          { kind },
          ofKind.reduce((sum, gap) => sum + gap.missing, 0),
        );
      }
      const { result, unreported } = compareGaps(gaps, reported);
      if (gaps.length === 0) alerts.resolve('gaps');
      else if (unreported.length > 0) {
        const more = unreported.length > MAX_ALERTED ? ` And ${unreported.length - MAX_ALERTED} more.` : '';
        alerts.raise({
          key: 'gaps',
          title: `${unreported.length === 1 ? 'An expected invoice is' : 'Expected invoices are'} missing`,
          detail: `${unreported.slice(0, MAX_ALERTED).join('; ')}.${more} See \`billsync report gaps\`; \`billsync backfill\` fetches an invoice whose id you know.`,
        });
      }
      return result;
    },
  };
}

async function openInvoices(environment: EnvironmentName): Promise<ReadonlySet<string>> {
  const query = `WorkflowType = 'invoice' AND ExecutionStatus = 'Running' AND Environment = '${environment}'`;
  const open = new Set<string>();
  for await (const { workflowId } of getClient().workflow.list({ query, pageSize: 1_000 })) {
    open.add(workflowId);
  }
  return open;
}

const MAX_ALERTED = 5;
const MAX_LISTED = 200;
/** Two of a hundred thousand findings share a digest once in 50,000 times. */
const DIGEST_LENGTH = 8;
/** A result has at most this many digests, 160 KB of Temporal's 2 MB. Of more, the first in their order are kept. */
const MAX_REPORTED = 20_000;

function compareGaps(
  gaps: readonly Gap[],
  reported: string,
): { readonly result: FindGapsResult; readonly unreported: readonly string[] } {
  const findings = new Map(gaps.map(({ finding }) => [digestOf(finding), finding]));
  const before = new Set(reported.match(new RegExp(`.{${DIGEST_LENGTH}}`, 'g')));
  const digests = [...findings.keys()].sort().slice(0, MAX_REPORTED);
  return {
    result: {
      gaps: gaps.length,
      findings: gaps.slice(0, MAX_LISTED).map(({ finding }) => finding),
      reported: digests.join(''),
    },
    unreported: digests.flatMap((digest) => (before.has(digest) ? [] : [findings.get(digest) ?? ''])),
  };
}

function digestOf(finding: string): string {
  return createHash('sha256').update(finding).digest('base64url').slice(0, DIGEST_LENGTH);
}
