import type { WebhookSettings } from '../application.ts';
import { breakRule, type Rule, requireThat, rule } from '../rule.ts';
import { approvedInvoice, CUSTOM_HEADERS, openEndpoint, receive, receiveEvent, SOON_MS } from '../stories.ts';
import { type SuiteContext, skip } from '../suite-context.ts';
import { refusalOf } from './lifecycle.ts';

const EVENT_TYPES = ['invoice_created', 'invoice_finalized', 'invoice_voided'];

export const registrationRules: readonly Rule[] = [
  rule('2.3', 'inactive-at-first', 'A new webhook is inactive and receives nothing', async (context) => {
    const silent = await openEndpoint(context, { active: false });
    const { active } = await requireWebhook(context, silent.registrationId);
    const received = await receivedUntilMarker(context, silent.path);
    requireThat(!active && received === 0, `active ${active}, received ${received}`);
    return 'inactive, received nothing';
  }),
  rule('2.3', 'enable-disable', 'A webhook can be enabled and disabled afterwards', async (context) => {
    const { application } = context;
    const { path, registrationId } = await openEndpoint(context);
    const { invoiceId } = await application.createInvoice({ shipments: 1 });
    await receiveEvent(context, path, invoiceId, 'invoice_created');
    await application.disableWebhook(registrationId);
    const before = context.receiver.received(path).length;
    await application.cancel(invoiceId);
    await receivedUntilMarker(context, path);
    const after = (await receive(context, { path, invoiceId, count: 1 })).map(({ eventType }) => eventType);
    requireThat(
      after.join() === 'invoice_created',
      `received ${after.join(', ')} (${before} before it was disabled)`,
    );
    return 'receives while enabled, nothing once disabled';
  }),
  rule('2.3', 'delete', 'A webhook can be deleted', async (context) => {
    const { path, registrationId } = await openEndpoint(context);
    await context.application.deleteWebhook(registrationId);
    const { invoiceId } = await context.application.createInvoice({ shipments: 1 });
    await receivedUntilMarker(context, path);
    const isListed = (await context.application.webhooks()).some(
      (one) => one.registrationId === registrationId,
    );
    const received = context.receiver.received(path).some((one) => one.invoiceId === invoiceId);
    requireThat(!isListed && !received, `listed ${isListed}, received ${received}`);
    return 'gone from the list, receives nothing';
  }),
  rule('2.3', 'summary-list', 'A summary list shows all registered webhooks', async (context) => {
    const { path, registrationId } = await openEndpoint(context, { active: false });
    const one = await requireWebhook(context, registrationId);
    requireThat(one.url.endsWith(`/${path}`) && one.name.endsWith(path), `${one.name} ${one.url}`);
    return `"${one.name}" is listed`;
  }),
  rule('2.3', 'https-only', 'The payload URL is HTTPS; HTTP is unsupported', (context) =>
    refusedSettings(context, { url: 'http://127.0.0.1:9/plain' }),
  ),
  rule('2.3', 'event-type-known', 'Event types are those three only', (context) =>
    refusedSettings(context, { eventTypes: ['invoice_paid'] }),
  ),
  rule('2.3', 'event-type-required', 'One or more event types are chosen', (context) =>
    refusedSettings(context, { eventTypes: [] }),
  ),
  ...EVENT_TYPES.map(
    (eventType): Rule =>
      rule(
        '2.3',
        `only-${eventType.replace('_', '-')}`,
        `A webhook for ${eventType} receives nothing else`,
        async (context) => {
          const { application } = context;
          const { path } = await openEndpoint(context, { eventTypes: [eventType] });
          const { invoiceId } = await application.createInvoice({ shipments: 1 });
          await application.finalize(invoiceId);
          await application.cancel(invoiceId);
          await receiveEvent(context, path, invoiceId, eventType);
          await receivedUntilMarker(context, path);
          const types = (await receive(context, { path, invoiceId, count: 1 })).map((one) => one.eventType);
          requireThat(types.join() === eventType, types.join(', '));
          return types.join();
        },
      ),
  ),
  rule(
    '2.3',
    'selected-tenants',
    'A webhook for selected tenants receives only their events',
    async (context) => {
      const { application } = context;
      const [one, other] = await application.tenants();
      if (one === undefined || other === undefined) return skip('the partner has no two tenants');
      const { path } = await openEndpoint(context, { tenants: [one.tenantId] });
      const foreign = await application.createInvoice({ tenant: other.tenantId, shipments: 1 });
      const own = await application.createInvoice({ tenant: one.tenantId, shipments: 1 });
      await receiveEvent(context, path, own.invoiceId, 'invoice_created');
      await receivedUntilMarker(context, path);
      const isReceived = context.receiver
        .received(path)
        .some(({ invoiceId }) => invoiceId === foreign.invoiceId);
      requireThat(!isReceived, `it receives events of "${other.name}" as well`);
      return `receives events of "${one.name}", not of "${other.name}"`;
    },
  ),
  rule(
    '2.3',
    'tenants-need-feature',
    'Tenants are a setting only of partners that use the tenant feature',
    async (context) => {
      const { application } = context.shortLived;
      const [tenant] = await context.application.tenants();
      const refusal = await refusalOf(
        openEndpoint(context, { at: application, tenants: [tenant?.tenantId ?? 'any'], active: false }),
      );
      requireThat(refusal !== null, 'a partner without tenants may choose some');
      return `refused with ${refusal}`;
    },
  ),
  rule(
    '2.3',
    'custom-headers',
    'Custom headers are sent with every request, HTTP Basic among them',
    async (context) => {
      const { received } = await context.once(approvedInvoice);
      for (const { headers, eventType } of received) {
        for (const [name, value] of Object.entries(CUSTOM_HEADERS)) {
          requireThat(headers[name] === value, `${eventType} has ${name}: ${headers[name] ?? 'nothing'}`);
        }
      }
      return `${Object.keys(CUSTOM_HEADERS).join(', ')} on ${received.length} requests`;
    },
  ),
  rule('2.3', 'test-payload', 'A test payload can be sent before activation', async (context) => {
    const { path, registrationId } = await openEndpoint(context, { active: false, headers: CUSTOM_HEADERS });
    await context.application.sendTest(registrationId);
    const [received] = await context.receiver.wait(path, (all) => all.length > 0, SOON_MS);
    const { headers, eventType } = received ?? breakRule('no test payload came');
    requireThat(
      headers['x-partner-system'] === CUSTOM_HEADERS['x-partner-system'],
      'it lacks the custom headers',
    );
    return `${eventType} came while the webhook was inactive`;
  }),
  rule('6.4', 'test-event-flag', 'A test payload has testEvent true, a real one false', async (context) => {
    const { path, registrationId } = await openEndpoint(context, { active: false });
    await context.application.sendTest(registrationId);
    const [test] = await context.receiver.wait(path, (all) => all.length > 0, SOON_MS);
    const { finalized } = await context.once(approvedInvoice);
    const flags = [test?.metadata.testEvent, finalized.metadata.testEvent];
    requireThat(flags[0] === true && flags[1] === false, JSON.stringify(flags));
    return 'true for the test, false for the real event';
  }),
];

async function requireWebhook(context: SuiteContext, registrationId: string) {
  const all = await context.application.webhooks();
  return all.find((one) => one.registrationId === registrationId) ?? breakRule('the list does not have it');
}

async function refusedSettings(context: SuiteContext, settings: Partial<WebhookSettings>): Promise<string> {
  const url = context.receiver.at('refused');
  const refusal = await refusalOf(context.application.addWebhook({ name: 'Refused', url, ...settings }));
  requireThat(refusal !== null, 'it was accepted');
  return `refused with ${refusal}`;
}

/** A later event at another endpoint shows that the silent one would have received its events by then. */
async function receivedUntilMarker(context: SuiteContext, silentPath: string): Promise<number> {
  const { path, registrationId } = await openEndpoint(context, { eventTypes: ['invoice_created'] });
  const { invoiceId } = await context.application.createInvoice({ shipments: 1 });
  await receiveEvent(context, path, invoiceId, 'invoice_created');
  await context.application.deleteWebhook(registrationId);
  return context.receiver.received(silentPath).length;
}
