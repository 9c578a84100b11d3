import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  proxySinks,
  setHandler,
  sleep,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ExportLocation, InvoiceEvent } from '../lib/wire/invoice-event.ts';
import { type InvoiceState, isEventType, rankOfEvent } from '../lib/wire/names.ts';
import { type CalledActivities, invoiceActivities } from './activity-options.ts';
import { failureOf } from './failure.ts';
import type { Attention, InvoiceLedger, Knowledge } from './lifecycle.ts';
import * as lifecycle from './lifecycle.ts';
import {
  type Attempts,
  type BackfillReply,
  backfillReplySignal,
  environmentKey,
  type InvoiceInput,
  type InvoiceResult,
  type InvoiceSinks,
  type InvoiceStatus,
  invoiceEventSignal,
  invoiceStateKey,
  type LookUpRequest,
  lookUpSignal,
  type RejectedFile,
  retrySignal,
  statusQuery,
} from './messages.ts';
import { DEFAULT_PACE, nthBackoff, type Pace } from './pace.ts';

const { invoices } = proxySinks<InvoiceSinks>();

export interface Requests {
  readonly isRetry: boolean;
  readonly isLookUp: boolean;
  /** The look-up includes an invoice that is loaded: only the service can report a lost void. */
  readonly isRecheck: boolean;
  readonly isFileInDoubt: boolean;
}

const NO_REQUESTS: Requests = { isRetry: false, isLookUp: false, isRecheck: false, isFileInDoubt: false };
const NO_ATTEMPTS: Attempts = { overdueChecks: 0, failedSeries: 0, pausedMs: 0, denials: 0, repairChecks: 0 };

export class InvoiceRun {
  readonly input: InvoiceInput;
  readonly pace: Pace;
  readonly activities: CalledActivities;
  knowledge: Knowledge;
  readonly attempts: Attempts;
  /** The same bytes would be rejected again, so a retry requests another file. */
  rejected: RejectedFile | null;
  /** Code of the failure that the warehouse has recorded; only a change is recorded again. */
  recordedFailure: string | null;
  readonly events: InvoiceEvent[] = [];
  requests = NO_REQUESTS;
  freshUrl: ExportLocation | null = null;
  /** An earlier run, or the endpoint, recorded that the invoice needs attention; cleared once the problem is gone. */
  hadAttention = false;
  readonly #replyTo: Set<string>;
  #publishedState: InvoiceState | null;

  /** Sets the handlers before the first await: signals may be delivered before the workflow function continues. */
  constructor(input: InvoiceInput) {
    const { carried, lookUp } = input;
    this.input = input;
    this.pace = { ...DEFAULT_PACE, ...input.pace };
    this.activities = invoiceActivities(this.pace);
    this.knowledge = carried?.knowledge ?? lifecycle.NOTHING_KNOWN;
    this.attempts = { ...NO_ATTEMPTS, ...carried?.attempts };
    this.rejected = carried?.rejected ?? null;
    this.recordedFailure = carried?.recordedFailure ?? null;
    this.#replyTo = new Set(carried?.replyTo);
    // The start of a workflow has published the state `draft` already.
    this.#publishedState = carried === undefined ? 'draft' : null;
    if (lookUp !== undefined) this.#requestLookUp(lookUp);
    setHandler(invoiceEventSignal, (event) => this.#receive(event));
    setHandler(retrySignal, () => {
      this.requests = { ...this.requests, isRetry: true };
    });
    setHandler(lookUpSignal, (request) => this.#requestLookUp(request));
    setHandler(statusQuery, (): InvoiceStatus => {
      const { attention, seen } = this.knowledge;
      return { state: lifecycle.stateOf(this.knowledge), seen: seen.length, attention };
    });
  }

  get hasNews(): boolean {
    return this.events.length > 0 || this.requests.isRetry || this.requests.isLookUp;
  }

  takeRequests(): Requests {
    const taken = this.requests;
    this.requests = NO_REQUESTS;
    return taken;
  }

  restoreRequests({ isRecheck, isFileInDoubt }: Requests): void {
    const { requests } = this;
    this.requests = {
      isRetry: requests.isRetry,
      isLookUp: true,
      isRecheck: requests.isRecheck || isRecheck,
      isFileInDoubt: requests.isFileInDoubt || isFileInDoubt,
    };
  }

  /** Throwing would block the run. Another program may copy signals; a newer endpoint may know more event types. */
  #receive(event: unknown): void {
    if (!isEventOf(this.input.invoiceId, event)) {
      log.warn('dropped a signal that is not an event of this invoice');
      invoices.foreignEvent();
    } else if (isEventType(event.eventType)) this.events.push(event);
    else this.#requestLookUp({});
  }

  #requestLookUp(request: LookUpRequest): void {
    const { isRetry, isFileInDoubt } = this.requests;
    this.requests = {
      ...{ isRetry, isLookUp: true, isRecheck: true },
      isFileInDoubt: isFileInDoubt || request.isFileInDoubt === true,
    };
    if (typeof request.replyTo === 'string') this.#replyTo.add(request.replyTo);
  }

  async reply(outcome: Omit<BackfillReply, 'invoiceId'>): Promise<void> {
    const { invoiceId } = this.input;
    for (const workflowId of this.#replyTo) {
      this.#replyTo.delete(workflowId);
      try {
        const backfill = getExternalWorkflowHandle(workflowId);
        await backfill.signal(backfillReplySignal, { invoiceId, ...outcome });
      } catch (error) {
        log.info('the workflow that requested the result has ended', { workflowId, error });
      }
    }
  }

  async pause(milliseconds: number): Promise<void> {
    const wasLookUp = this.requests.isLookUp;
    await condition(
      () => this.events.length > 0 || this.requests.isRetry || (this.requests.isLookUp && !wasLookUp),
      milliseconds,
    );
  }

  async backOff(): Promise<void> {
    await this.pause(nthBackoff(this.pace, this.attempts.failedSeries));
  }

  async backOffAfterSeries(): Promise<void> {
    const milliseconds = nthBackoff(this.pace, this.attempts.failedSeries);
    this.attempts.failedSeries += 1;
    this.attempts.pausedMs += milliseconds;
    await this.pause(milliseconds);
  }

  resetSeries(): void {
    this.attempts.failedSeries = 0;
    this.attempts.pausedMs = 0;
  }

  /** Repeats an update of the ledger until it succeeds, because nothing else makes sense without it. */
  async retryUntilDone<T>(name: string, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await CancellationScope.nonCancellable(work);
      } catch (error) {
        const { code } = failureOf(error);
        log.warn(`${name} failed and is retried`, { code });
        await sleep(nthBackoff(this.pace, attempt));
      }
    }
  }

  /** A void cancels `work` and waits until it has stopped: a running download would load rows after the void. */
  async unlessVoided(work: () => Promise<void>): Promise<void> {
    const scope = new CancellationScope();
    let isOver = false;
    const running = scope.run(work).finally(() => {
      isOver = true;
    });
    running.catch(() => {}); // Awaited below; an earlier failure must not count as unhandled.
    while (!isOver) {
      await condition(() => isOver || this.events.length > 0);
      await this.recordEvents();
      if (!isOver && this.knowledge.rank === 'voided') scope.cancel();
    }
    try {
      await running;
    } catch (error) {
      if (!(isCancellation(error) && this.knowledge.rank === 'voided')) throw error;
    }
  }

  async recordEvents(): Promise<void> {
    const { events } = this;
    while (events.length > 0) {
      const { length } = events;
      await this.#recordEvents(events.filter(({ eventId }) => !this.knowledge.seen.includes(eventId)));
      events.splice(0, length);
    }
  }

  async #recordEvents(fresh: readonly InvoiceEvent[]): Promise<void> {
    const { attention, seen, isDisputed } = this.knowledge;
    const isFirst = seen.length === 0;
    const someVoid = fresh.find(isVoid);
    const event = someVoid ?? fresh[0];
    if (event === undefined) return;
    let isRestored = false;
    // The ledger is read once per run for the work of earlier runs, and for voids, which a person may have undone.
    // Other events are in the archive already. The first is recorded in the workflow's own task; twice is harmless.
    if (isFirst || someVoid !== undefined) {
      const { recordFirstEvent, recordEvent } = this.activities;
      const ledger = await this.retryUntilDone('recording an event', () =>
        (isFirst ? recordFirstEvent : recordEvent)({ event }),
      );
      // A finalized event that only the ledger has is about to arrive here, with its URL.
      const isOnItsWay = someVoid === undefined && ledger.state === 'finalized';
      this.#applyLedger(isOnItsWay ? { ...ledger, state: null } : ledger);
      isRestored = ledger.isRestored;
    }
    for (const each of fresh) {
      this.knowledge =
        isRestored && isVoid(each)
          ? lifecycle.skipEvent(this.knowledge, each)
          : lifecycle.applyEvent(this.knowledge, each);
    }
    if (fresh.some(({ export: location }) => location !== null)) this.resetSeries();
    // The details settle what the announcements state differently, and may report a void.
    if (this.knowledge.isDisputed && !isDisputed) this.#requestLookUp({});
    if (attention !== null && this.knowledge.attention === null) await this.clearAttention();
  }

  async startFromLedger(): Promise<void> {
    const ledger = await this.#readLedger();
    this.#applyLedger(ledger);
    this.hadAttention = ledger.state === 'needs_attention' && ledger.voidBasis === null;
  }

  async applyRestore(): Promise<boolean> {
    const ledger = await this.#readLedger();
    if (!ledger.isRestored) return false;
    this.knowledge = lifecycle.applyRestore(this.knowledge, ledger);
    this.attempts.denials = 0;
    return true;
  }

  async applyVoid(): Promise<void> {
    const { invoiceId } = this.input;
    await this.retryUntilDone('voiding', () => this.activities.voidInvoice({ invoiceId }));
    this.knowledge = lifecycle.completeVoid(this.knowledge);
  }

  async requireAttention(attention: Attention): Promise<void> {
    if (this.events.length > 0) return;
    const seenBefore = this.knowledge.seen.length;
    const request = { invoiceId: this.input.invoiceId, ...attention };
    await this.retryUntilDone('recording why it needs attention', () =>
      this.activities.markNeedsAttention(request),
    );
    if (this.knowledge.seen.length > seenBefore) return this.clearAttention();
    this.knowledge = lifecycle.requireAttention(this.knowledge, attention);
  }

  async clearAttention(): Promise<void> {
    const { invoiceId } = this.input;
    await this.retryUntilDone('clearing its attention', () =>
      this.activities.clearNeedsAttention({ invoiceId }),
    );
  }

  async recordFailure(failure: Attention | null, isAlert = false): Promise<void> {
    const code = failure?.code ?? null;
    if (code === this.recordedFailure) return;
    const { invoiceId } = this.input;
    await this.retryUntilDone('recording a failure', () =>
      this.activities.recordFailure({ invoiceId, failure, isAlert }),
    );
    this.recordedFailure = code;
  }

  #readLedger(): Promise<InvoiceLedger> {
    const { invoiceId } = this.input;
    return this.retryUntilDone('reading the ledger', () => this.activities.readLedger({ invoiceId }));
  }

  #applyLedger(ledger: InvoiceLedger): void {
    this.knowledge = lifecycle.applyLedger(this.knowledge, ledger);
    this.recordedFailure = ledger.failureCode;
  }

  /** Updates only when the state has changed, because each update is a command in the history. */
  updateSearchAttributes(): void {
    const state = lifecycle.stateOf(this.knowledge);
    if (state === this.#publishedState) return;
    this.#publishedState = state;
    upsertSearchAttributes([
      { key: invoiceStateKey, value: state },
      { key: environmentKey, value: this.input.environment },
    ]);
  }

  async continueAsNew(): Promise<never> {
    await condition(allHandlersFinished);
    const { knowledge, attempts, rejected, recordedFailure } = this;
    const { lookUp: _, ...input } = this.input;
    return continueAsNew<(next: InvoiceInput) => Promise<InvoiceResult>>({
      ...input,
      carried: { knowledge, attempts, rejected, recordedFailure, replyTo: [...this.#replyTo] },
    });
  }
}

function isVoid({ eventType }: InvoiceEvent): boolean {
  return rankOfEvent(eventType) === 'voided';
}

function isEventOf(invoiceId: string, value: unknown): value is InvoiceEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { eventId, eventType, invoice } = value as Partial<InvoiceEvent>;
  const isEvent = typeof eventId === 'string' && typeof eventType === 'string';
  return isEvent && invoice?.invoiceId?.toLowerCase() === invoiceId.toLowerCase();
}
