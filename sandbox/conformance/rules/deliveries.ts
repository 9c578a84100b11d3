import { setTimeout as sleep } from 'node:timers/promises';
import type { LoggedDelivery } from '../application.ts';
import type { ReceivedRequest, Reply } from '../receiver.ts';
import { breakRule, type Rule, requireThat, rule } from '../rule.ts';
import { approvedInvoice, openEndpoint, receive, SOON_MS } from '../stories.ts';
import type { SuiteContext } from '../suite-context.ts';

const AT_ONCE_MS = 3_000;
const SLACK_MS = 1_000;

interface Voided {
  readonly invoiceId: string;
  readonly received: readonly ReceivedRequest[];
  readonly canceledAtMs: number;
  readonly path: string;
  readonly registrationId: string;
}

export const deliveryRules: readonly Rule[] = [
  rule(
    '4.6',
    'delivery-json',
    'The envelope comes as the body of a request to the payload URL',
    async (context) => {
      const { finalized } = await context.once(approvedInvoice);
      requireThat(finalized.eventId !== '', 'the body is no JSON envelope');
      return `${finalized.method} ${String(finalized.headers['content-type'])}`;
    },
  ),
  ...[{ status: 200, body: '{"status":"accepted"}' }, { status: 204 }, { status: 299, body: 'not JSON' }].map(
    (reply): Rule =>
      rule(
        '4.6',
        `accepts-${reply.status}`,
        `An answer of ${reply.status} with ${reply.body === undefined ? 'no' : 'any'} body is taken`,
        async (context) => {
          const voided = await voidInvoice(context, () => reply, 1);
          const log = await settledLog(context, voided);
          requireThat(
            log.state === 'delivered' && log.attempts.length === 1,
            `${log.state} after ${log.attempts.length}`,
          );
          return 'delivered at the first attempt';
        },
      ),
  ),
  rule('8', 'at-once', 'The initial attempt comes immediately', async (context) => {
    const { received, canceledAtMs } = await voidInvoice(context, () => ({ status: 200 }), 1);
    const waitedMs = (received[0] ?? breakRule('nothing came')).atMs - canceledAtMs;
    requireThat(waitedMs < AT_ONCE_MS, `${Math.round(waitedMs)} ms`);
    return `${Math.round(waitedMs)} ms after the invoice was canceled`;
  }),
  ...[301, 404, 500].map(
    (status): Rule =>
      rule('6.5', `retries-${status}`, `An answer of ${status} triggers a retry`, async (context) => {
        const voided = await voidInvoice(context, (attempt) => ({ status: attempt === 1 ? status : 200 }), 2);
        requireThat(voided.received.length === 2, `${voided.received.length} attempts`);
        const log = await settledLog(context, voided);
        requireThat(
          log.state === 'delivered' && log.attempts.length === 2,
          `${log.state} after ${log.attempts.length}`,
        );
        return 'delivered at the second attempt';
      }),
  ),
  rule('8', 'brief-delay', 'The retry comes after a brief delay', async (context) => {
    const { received } = await context.once(refusedTwice);
    const gapMs = gapOf(received);
    requireThat(gapMs > 0 && gapMs <= context.briefDelayMs, `${Math.round(gapMs)} ms`);
    return `${(gapMs / 1_000).toFixed(1)} s`;
  }),
  rule('8', 'no-third-attempt', 'There is one retry and no third attempt', async (context) => {
    const { received } = await context.once(refusedTwice);
    const { path, invoiceId } = await context.once(refusedTwice);
    const quietMs = 2 * gapOf(received) + 500;
    const more = await receive(context, { path, invoiceId, count: 3 }, quietMs);
    requireThat(more.length === 2, `${more.length} attempts`);
    return `2 attempts, then ${(quietMs / 1_000).toFixed(1)} s of silence`;
  }),
  rule(
    '6.3',
    'retry-same-event',
    'The retry carries the same eventId and the same bytes',
    async (context) => {
      const { received } = await context.once(refusedTwice);
      const [one, other] = received;
      requireThat(one !== undefined && other !== undefined, `${received.length} attempts`);
      requireThat(
        one.eventId === other.eventId && one.body.equals(other.body),
        `${one.eventId}, then ${other.eventId}`,
      );
      return `${one.eventId} twice`;
    },
  ),
  rule(
    '6.7',
    'logged-not-requeued',
    'After the retry the delivery is logged as failed and not requeued',
    async (context) => {
      const voided = await context.once(refusedTwice);
      const log = await settledLog(context, voided);
      requireThat(
        log.state === 'failed' && log.attempts.length === 2,
        `${log.state} after ${log.attempts.length}`,
      );
      return 'failed after 2 attempts, in the log';
    },
  ),
  rule(
    '8',
    'response-limit',
    'An endpoint that does not answer in time has failed; the retry follows',
    async (context) => {
      const { responseLimitMs, briefDelayMs } = context;
      const patience = responseLimitMs + briefDelayMs + SOON_MS;
      const { received } = await voidInvoice(
        context,
        (attempt) => reply(attempt === 1 ? 'hang' : 200),
        2,
        patience,
      );
      requireThat(received.length === 2, `${received.length} attempts within ${patience / 1_000} s`);
      const gapMs = gapOf(received);
      const most = responseLimitMs + briefDelayMs + SLACK_MS;
      requireThat(
        gapMs >= responseLimitMs - SLACK_MS && gapMs <= most,
        `the retry came after ${(gapMs / 1_000).toFixed(1)} s`,
      );
      return `given up at ${responseLimitMs / 1_000} s, retried after ${(gapMs / 1_000).toFixed(1)} s`;
    },
  ),
  rule(
    '8',
    'slow-but-in-time',
    'An endpoint that answers late but in time has not failed',
    async (context) => {
      const afterMs = Math.round(context.responseLimitMs * 0.5);
      const voided = await voidInvoice(context, () => ({ status: 200, afterMs }), 1);
      const log = await settledLog(context, voided, afterMs + SOON_MS);
      requireThat(
        log.state === 'delivered' && log.attempts.length === 1,
        `${log.state} after ${log.attempts.length}`,
      );
      return `delivered with an answer after ${(afterMs / 1_000).toFixed(1)} s`;
    },
  ),
  rule('2.3', 'side-by-side', 'Webhooks do not wait for one another', async (context) => {
    const { invoiceId } = await context.application.createInvoice({ shipments: 1 });
    const only = { eventTypes: ['invoice_voided'] };
    const isOurs = (received: ReceivedRequest) => received.invoiceId === invoiceId;
    const slow = await openEndpoint(context, {
      ...only,
      reply: (received) => reply(isOurs(received) ? 'hang' : 200),
    });
    const quick = await openEndpoint(context, only);
    const startMs = performance.now();
    await context.application.cancel(invoiceId);
    const [received] = await receive(context, { path: quick.path, invoiceId, count: 1 });
    await context.application.deleteWebhook(slow.registrationId);
    const waitedMs = (received ?? breakRule('the second webhook received nothing')).atMs - startMs;
    requireThat(waitedMs < AT_ONCE_MS, `${Math.round(waitedMs)} ms beside a webhook that does not answer`);
    return `${Math.round(waitedMs)} ms beside a webhook that does not answer`;
  }),
];

function reply(status: Reply['status']): Reply {
  return { status };
}

function refusedTwice(context: SuiteContext): Promise<Voided> {
  return voidInvoice(context, () => ({ status: 500 }), 2);
}

/** The endpoint answers with `choose` for this invoice and with 200 for all others. */
async function voidInvoice(
  context: SuiteContext,
  choose: (attempt: number) => Reply,
  count: number,
  withinMs = context.briefDelayMs + SOON_MS,
): Promise<Voided> {
  const { invoiceId } = await context.application.createInvoice({ shipments: 1 });
  const { path, registrationId } = await openEndpoint(context, {
    eventTypes: ['invoice_voided'],
    reply: (received, attempt) => (received.invoiceId === invoiceId ? choose(attempt) : { status: 200 }),
  });
  const canceledAtMs = performance.now();
  await context.application.cancel(invoiceId);
  const received = await receive(context, { path, invoiceId, count }, withinMs);
  return { invoiceId, path, registrationId, canceledAtMs, received };
}

function gapOf([one, other]: readonly ReceivedRequest[]): number {
  return one === undefined || other === undefined ? breakRule('there was no retry') : other.atMs - one.atMs;
}

/** The log entry, when the delivery has ended. */
async function settledLog(
  context: SuiteContext,
  { invoiceId, registrationId }: Voided,
  withinMs = SOON_MS,
): Promise<LoggedDelivery> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const log = (await context.application.deliveryLog(invoiceId)).filter(
      (one) => one.registrationId === registrationId,
    );
    const [own] = log;
    if (log.length > 1) breakRule(`the log has ${log.length} deliveries of one event to one webhook`);
    if (own !== undefined && own.state !== 'pending') return own;
    if (performance.now() > deadline)
      return breakRule(own === undefined ? 'it is not in the log' : 'it is still pending');
    await sleep(50);
  }
}
