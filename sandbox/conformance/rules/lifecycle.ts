import { type Application, type ApplicationInvoice, RefusalError, type Status } from '../application.ts';
import { breakRule, type Rule, requireThat, rule } from '../rule.ts';
import {
  approvedInvoice,
  canceledInvoice,
  openEndpoint,
  receiveEvent,
  unexportedInvoice,
} from '../stories.ts';
import { skip } from '../suite-context.ts';

type Move = 'submit' | 'approve' | 'cancel';

/** The moves of spec 3: the status before, the move, and the status after; null where the move is refused. */
const TABLE: readonly (readonly [Status, Move, Status | null])[] = [
  ['DRAFT', 'submit', 'PENDING_APPROVAL'],
  ['DRAFT', 'approve', null],
  ['DRAFT', 'cancel', 'CANCELED'],
  ['PENDING_APPROVAL', 'submit', null],
  ['PENDING_APPROVAL', 'approve', 'APPROVED'],
  ['PENDING_APPROVAL', 'cancel', 'CANCELED'],
  ['APPROVED', 'submit', null],
  ['APPROVED', 'approve', null],
  ['APPROVED', 'cancel', 'CANCELED'],
  ['CANCELED', 'submit', null],
  ['CANCELED', 'approve', null],
  ['CANCELED', 'cancel', null],
];
const TARGET: Readonly<Record<Move, Status>> = {
  submit: 'PENDING_APPROVAL',
  approve: 'APPROVED',
  cancel: 'CANCELED',
};

export const lifecycleRules: readonly Rule[] = [
  ...TABLE.map(
    ([from, move, to]): Rule => (to === null ? refusedMove(from, move) : allowedMove(from, move, to)),
  ),
  rule(
    '3',
    'event-order',
    'The events of an invoice follow its life: created, finalized, voided',
    async (context) => {
      const { received } = await context.once(canceledInvoice);
      const types = received.map(({ eventType }) => eventType);
      const instants = received.map(({ metadata }) => Date.parse(String(metadata.eventTimestamp)));
      requireThat(types.join() === 'invoice_created,invoice_finalized,invoice_voided', types.join(', '));
      requireThat(
        instants.every((instant, at) => at === 0 || instant >= (instants[at - 1] ?? 0)),
        'the timestamps go backwards',
      );
      return types.join(', ');
    },
  ),
  rule(
    '3',
    'auto-approve',
    'Auto-approve takes the invoices of a schedule to APPROVED, with invoice_finalized',
    async (context) => {
      const { path } = await openEndpoint(context);
      const tenants = (await context.application.tenants()).slice(0, 2).map(({ tenantId }) => tenantId);
      const chosen = tenants.length === 0 ? 'all' : tenants;
      const invoices = await context.application.runSchedule({
        autoApprove: true,
        tenants: chosen,
        overrides: {},
      });
      for (const { invoiceId, status } of invoices) {
        requireThat(status === 'APPROVED', `an invoice is ${status}`);
        await receiveEvent(context, path, invoiceId, 'invoice_finalized');
      }
      requireThat(invoices.length > 0, 'the schedule generated nothing');
      return `${invoices.length} invoices APPROVED and announced`;
    },
  ),
  rule(
    '3',
    'no-auto-approve',
    'Without auto-approve the invoices of a schedule stay in DRAFT',
    async ({ application }) => {
      const invoices = await application.runSchedule({ autoApprove: false, tenants: 'all', overrides: {} });
      requireThat(
        invoices.length > 0 && invoices.every(({ status }) => status === 'DRAFT'),
        statusesOf(invoices),
      );
      return statusesOf(invoices);
    },
  ),
  override(true),
  override(false),
  rule('6.1', 'no-pending-event', 'No event is emitted for PENDING_APPROVAL', async (context) => {
    const { received } = await context.once(approvedInvoice);
    const types = received.map(({ eventType }) => eventType).join(', ');
    const isSilent = received.every(({ payload }) => payload.invoiceStatus !== 'pending');
    requireThat(types === 'invoice_created, invoice_finalized' && isSilent, types);
    return `between DRAFT and APPROVED: ${types}`;
  }),
  rule(
    '6.6',
    'export-failure-silent',
    'When the export fails, invoice_finalized is not sent',
    async (context) => {
      const { invoiceId, received } = await context.once(unexportedInvoice);
      const { status } = await context.application.invoice(invoiceId);
      const types = received.map(({ eventType }) => eventType).join(', ');
      requireThat(status === 'APPROVED' && types === 'invoice_created', `${status}, received ${types}`);
      return `${status}, received ${types} only`;
    },
  ),
];

function allowedMove(from: Status, move: Move, to: Status): Rule {
  return rule(
    '3',
    `${from}-${move}`.toLowerCase().replaceAll('_', '-'),
    `${from} moves to ${to}`,
    async ({ application }) => {
      const { invoiceId } = await invoiceIn(application, from);
      const { status } = await application[move](invoiceId);
      requireThat(status === to, `it is ${status}`);
      return `${from} to ${status}`;
    },
  );
}

function refusedMove(from: Status, move: Move): Rule {
  return rule(
    '3',
    `${from}-${move}`.toLowerCase().replaceAll('_', '-'),
    `${from} does not move to ${TARGET[move]}`,
    async ({ application }) => {
      const { invoiceId } = await invoiceIn(application, from);
      const refusal = await refusalOf(application[move](invoiceId));
      const { status } = await application.invoice(invoiceId);
      requireThat(refusal !== null, `it was not refused and is ${status}`);
      requireThat(status === from, `refused with ${refusal}, and yet it is ${status}`);
      return `refused with ${refusal}, stays ${status}`;
    },
  );
}

function override(isOn: boolean): Rule {
  const state = isOn ? 'on' : 'off';
  return rule(
    '3',
    `auto-approve-override-${state}`,
    `Auto-approve can be switched ${state} for a specific tenant`,
    async ({ application }) => {
      const [one, other] = await application.tenants();
      if (one === undefined || other === undefined) return skip('the partner has no two tenants');
      const invoices = await application.runSchedule({
        autoApprove: !isOn,
        tenants: [one.tenantId, other.tenantId],
        overrides: { [other.tenantId]: isOn },
      });
      const statusOf = (id: string) => invoices.find(({ tenantId }) => tenantId === id)?.status;
      const seen = `${statusOf(one.tenantId)} for the schedule, ${statusOf(other.tenantId)} for the tenant`;
      const expected = isOn ? ['DRAFT', 'APPROVED'] : ['APPROVED', 'DRAFT'];
      requireThat(statusOf(one.tenantId) === expected[0] && statusOf(other.tenantId) === expected[1], seen);
      return seen;
    },
  );
}

async function invoiceIn(application: Application, status: Status): Promise<ApplicationInvoice> {
  const invoice = await application.createInvoice({ shipments: 1 });
  const { invoiceId } = invoice;
  if (invoice.status !== 'DRAFT') breakRule(`a new invoice is ${invoice.status}`);
  if (status === 'DRAFT') return invoice;
  if (status === 'CANCELED') return application.cancel(invoiceId);
  const submitted = await application.submit(invoiceId);
  return status === 'PENDING_APPROVAL' ? submitted : application.approve(invoiceId);
}

/** Returns the status of the refusal; null when there was no refusal. */
export async function refusalOf(work: Promise<unknown>): Promise<number | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof RefusalError && error.status < 500) return error.status;
    throw error;
  }
}

function statusesOf(invoices: readonly ApplicationInvoice[]): string {
  return invoices.map(({ status }) => status).join(', ') || 'no invoices';
}
