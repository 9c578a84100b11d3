import type { WebhookSettings } from '../application.ts';
import { broken, hold, type Rule } from '../rule.ts';
import { approvedInvoice, CUSTOM_HEADERS, openEndpoint, receive, receiveEvent, SOON_MS } from '../stories.ts';
import { type SuiteContext, skip } from '../suite-context.ts';
import { refusalOf } from './lifecycle.ts';

const EVENT_TYPES = ['invoice_created', 'invoice_finalized', 'invoice_voided'];

export const registrationRules: readonly Rule[] = [
  {
    section: '2.3',
    id: 'inactive-at-first',
    rule: 'A new webhook is inactive and receives nothing',
    check: async (context) => {
      const silent = await openEndpoint(context, { active: false });
      const { active } = await webhook(context, silent.webhookId);
      const received = await receivedUntilMarker(context, silent.path);
      hold(!active && received === 0, `active ${active}, received ${received}`);
      return 'inactive, received nothing';
    },
  },
  {
    section: '2.3',
    id: 'enable-disable',
    rule: 'A webhook can be enabled and disabled afterwards',
    check: async (context) => {
      const { application } = context;
      const { path, webhookId } = await openEndpoint(context);
      const { invoiceId } = await application.createInvoice({ shipments: 1 });
      await receiveEvent(context, path, invoiceId, 'invoice_created');
      await application.disableWebhook(webhookId);
      const before = context.receiver.received(path).length;
      await application.cancel(invoiceId);
      await receivedUntilMarker(context, path);
      const after = (await receive(context, { path, invoiceId, count: 1 })).map(({ eventType }) => eventType);
      hold(
        after.join() === 'invoice_created',
        `received ${after.join(', ')} (${before} before it was disabled)`,
      );
      return 'receives while enabled, nothing once disabled';
    },
  },
  {
    section: '2.3',
    id: 'delete',
    rule: 'A webhook can be deleted',
    check: async (context) => {
      const { path, webhookId } = await openEndpoint(context);
      await context.application.deleteWebhook(webhookId);
      const { invoiceId } = await context.application.createInvoice({ shipments: 1 });
      await receivedUntilMarker(context, path);
      const isListed = (await context.application.webhooks()).some((one) => one.webhookId === webhookId);
      const received = context.receiver.received(path).some((one) => one.invoiceId === invoiceId);
      hold(!isListed && !received, `listed ${isListed}, received ${received}`);
      return 'gone from the list, receives nothing';
    },
  },
  {
    section: '2.3',
    id: 'summary-list',
    rule: 'A summary list shows all registered webhooks',
    check: async (context) => {
      const { path, webhookId } = await openEndpoint(context, { active: false });
      const one = await webhook(context, webhookId);
      hold(one.url.endsWith(`/${path}`) && one.name.endsWith(path), `${one.name} ${one.url}`);
      return `"${one.name}" is listed`;
    },
  },
  {
    section: '2.3',
    id: 'https-only',
    rule: 'The payload URL is HTTPS; HTTP is unsupported',
    check: (context) => refusedSettings(context, { url: 'http://127.0.0.1:9/plain' }),
  },
  {
    section: '2.3',
    id: 'event-type-known',
    rule: 'Event types are those three only',
    check: (context) => refusedSettings(context, { eventTypes: ['invoice_paid'] }),
  },
  {
    section: '2.3',
    id: 'event-type-required',
    rule: 'One or more event types are chosen',
    check: (context) => refusedSettings(context, { eventTypes: [] }),
  },
  ...EVENT_TYPES.map(
    (eventType): Rule => ({
      section: '2.3',
      id: `only-${eventType.replace('_', '-')}`,
      rule: `A webhook for ${eventType} receives nothing else`,
      check: async (context) => {
        const { application } = context;
        const { path } = await openEndpoint(context, { eventTypes: [eventType] });
        const { invoiceId } = await application.createInvoice({ shipments: 1 });
        await application.finalize(invoiceId);
        await application.cancel(invoiceId);
        await receiveEvent(context, path, invoiceId, eventType);
        await receivedUntilMarker(context, path);
        const types = (await receive(context, { path, invoiceId, count: 1 })).map((one) => one.eventType);
        hold(types.join() === eventType, types.join(', '));
        return types.join();
      },
    }),
  ),
  {
    section: '2.3',
    id: 'selected-tenants',
    rule: 'A webhook for selected tenants receives only their events',
    check: async (context) => {
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
      hold(!isReceived, `it receives events of "${other.name}" as well`);
      return `receives events of "${one.name}", not of "${other.name}"`;
    },
  },
  {
    section: '2.3',
    id: 'tenants-need-feature',
    rule: 'Tenants are a setting only of partners that use the tenant feature',
    check: async (context) => {
      const { application } = context.shortLived;
      const [tenant] = await context.application.tenants();
      const refusal = await refusalOf(
        openEndpoint(context, { at: application, tenants: [tenant?.tenantId ?? 'any'], active: false }),
      );
      hold(refusal !== null, 'a partner without tenants may choose some');
      return `refused with ${refusal}`;
    },
  },
  {
    section: '2.3',
    id: 'custom-headers',
    rule: 'Custom headers are sent with every request, HTTP Basic among them',
    check: async (context) => {
      const { received } = await context.once(approvedInvoice);
      for (const { headers, eventType } of received) {
        for (const [name, value] of Object.entries(CUSTOM_HEADERS)) {
          hold(headers[name] === value, `${eventType} has ${name}: ${headers[name] ?? 'nothing'}`);
        }
      }
      return `${Object.keys(CUSTOM_HEADERS).join(', ')} on ${received.length} requests`;
    },
  },
  {
    section: '2.3',
    id: 'test-payload',
    rule: 'A test payload can be sent before activation',
    check: async (context) => {
      const { path, webhookId } = await openEndpoint(context, { active: false, headers: CUSTOM_HEADERS });
      await context.application.sendTest(webhookId);
      const [received] = await context.receiver.wait(path, (all) => all.length > 0, SOON_MS);
      const { headers, eventType } = received ?? broken('no test payload came');
      hold(headers['x-partner-system'] === CUSTOM_HEADERS['x-partner-system'], 'it lacks the custom headers');
      return `${eventType} came while the webhook was inactive`;
    },
  },
  {
    section: '6.4',
    id: 'test-event-flag',
    rule: 'A test payload has testEvent true, a real one false',
    check: async (context) => {
      const { path, webhookId } = await openEndpoint(context, { active: false });
      await context.application.sendTest(webhookId);
      const [test] = await context.receiver.wait(path, (all) => all.length > 0, SOON_MS);
      const { finalized } = await context.once(approvedInvoice);
      const flags = [test?.metadata.testEvent, finalized.metadata.testEvent];
      hold(flags[0] === true && flags[1] === false, JSON.stringify(flags));
      return 'true for the test, false for the real event';
    },
  },
];

async function webhook(context: SuiteContext, webhookId: string) {
  const all = await context.application.webhooks();
  return all.find((one) => one.webhookId === webhookId) ?? broken('the list does not have it');
}

async function refusedSettings(context: SuiteContext, settings: Partial<WebhookSettings>): Promise<string> {
  const url = context.receiver.at('refused');
  const refusal = await refusalOf(context.application.addWebhook({ name: 'Refused', url, ...settings }));
  hold(refusal !== null, 'it was accepted');
  return `refused with ${refusal}`;
}

/** A later event at another endpoint shows that the silent one would have received its events by then. */
async function receivedUntilMarker(context: SuiteContext, silentPath: string): Promise<number> {
  const { path, webhookId } = await openEndpoint(context, { eventTypes: ['invoice_created'] });
  const { invoiceId } = await context.application.createInvoice({ shipments: 1 });
  await receiveEvent(context, path, invoiceId, 'invoice_created');
  await context.application.deleteWebhook(webhookId);
  return context.receiver.received(silentPath).length;
}
