/** What was said to an invoice workflow and not yet dealt with. Handlers only put it here: one that waits loses work. */

import { getExternalWorkflowHandle, log, proxySinks, setHandler } from '@temporalio/workflow';
import { type InvoiceEvent, isEventType } from '../lib/wire/names.ts';
import {
  type BackfillReply,
  backfillReplySignal,
  type InvoiceInput,
  type InvoiceSinks,
  type InvoiceStatus,
  invoiceEventSignal,
  type LookUpRequest,
  lookUpSignal,
  retrySignal,
  statusQuery,
} from './messages.ts';

const { invoices } = proxySinks<InvoiceSinks>();

export interface Requests {
  readonly isLookUpWanted: boolean;
  readonly isRecheckWanted: boolean;
  readonly isFileInDoubt: boolean;
}

export class InvoiceMailbox {
  readonly events: InvoiceEvent[] = [];
  private readonly replyTo = new Set<string>();
  private readonly invoiceId: string;
  /** Somebody wants the service asked, or the file tried again. */
  isRetryWanted = false;
  isLookUpWanted = false;
  /** The look-up is meant for an invoice that is settled, too: a lost void is found only by asking. */
  isRecheckWanted = false;
  /** Somebody found the service to state other figures than are loaded. */
  isFileInDoubt = false;

  constructor(input: InvoiceInput, status: () => InvoiceStatus) {
    this.invoiceId = input.invoiceId;
    for (const workflowId of input.carried?.owed ?? []) this.replyTo.add(workflowId);
    if (input.lookUp !== undefined) this.lookUp(input.lookUp);
    setHandler(invoiceEventSignal, (event) => this.post(event));
    setHandler(retrySignal, () => {
      this.isRetryWanted = true;
    });
    setHandler(lookUpSignal, (request) => this.lookUp(request));
    setHandler(statusQuery, status);
  }

  get hasNews(): boolean {
    return this.events.length > 0 || this.isRetryWanted || this.isLookUpWanted;
  }

  /** Tells everybody who asked what became of the invoice. A backfill that is over does not mind. */
  async reply(outcome: Omit<BackfillReply, 'invoiceId'>): Promise<void> {
    for (const workflowId of this.replyTo) {
      this.replyTo.delete(workflowId);
      try {
        const backfill = getExternalWorkflowHandle(workflowId);
        await backfill.signal(backfillReplySignal, { invoiceId: this.invoiceId, ...outcome });
      } catch (error) {
        log.info('nobody waits for the answer any more', { workflowId, error });
      }
    }
  }

  /** Whom a continued run still owes an answer. */
  get pendingReplies(): readonly string[] {
    return [...this.replyTo];
  }

  /** Marks every wish as granted and says what they were; what is wished for from here on counts again. */
  takeRequests(): Requests {
    const { isLookUpWanted, isRecheckWanted, isFileInDoubt } = this;
    this.isRetryWanted = false;
    this.isLookUpWanted = false;
    this.isRecheckWanted = false;
    this.isFileInDoubt = false;
    return { isLookUpWanted, isRecheckWanted, isFileInDoubt };
  }

  /** Nobody could be asked: the requests stand, and so does the need for an answer. */
  requestAgain({ isRecheckWanted, isFileInDoubt }: Requests): void {
    this.isLookUpWanted = true;
    this.isRecheckWanted ||= isRecheckWanted;
    this.isFileInDoubt ||= isFileInDoubt;
  }

  /**
   * Anything that reached us as a signal but is no event of this invoice is dropped: throwing would stall the run. Nobody
   * of ours sends one, so it may be a copy of what another invoice was told, and somebody is told. Of an event that only a newer endpoint knows the type of, the service is asked what it came to.
   */
  private post(event: unknown): void {
    if (!isEventOf(this.invoiceId, event)) {
      log.warn('a signal that is no event of this invoice was dropped');
      invoices.foreignEvent();
    } else if (isEventType(event.eventType)) this.events.push(event);
    else this.lookUp(undefined);
  }

  private lookUp(request: LookUpRequest | undefined): void {
    this.isLookUpWanted = true;
    this.isRecheckWanted = true;
    this.isFileInDoubt ||= request?.isFileInDoubt === true;
    if (typeof request?.replyTo === 'string') this.replyTo.add(request.replyTo);
  }
}

/** Ids are UUIDs: two spellings of one are the same invoice. */
function isSameId(one: string | undefined, other: string): boolean {
  return one?.toLowerCase() === other.toLowerCase();
}

function isEventOf(invoiceId: string, value: unknown): value is InvoiceEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { eventId, eventType, invoice } = value as Partial<InvoiceEvent>;
  const isEvent = typeof eventId === 'string' && typeof eventType === 'string';
  return isEvent && isSameId(invoice?.invoiceId, invoiceId);
}
