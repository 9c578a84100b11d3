/** State of one run of the invoice workflow: its knowledge, what was received and not yet processed, and how it waits. */

import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  log,
  proxySinks,
  setHandler,
  sleep,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { FileTag } from '../lib/wire/csv-file.ts';
import { type ExportLocation, type InvoiceEvent, type InvoiceState, isEventType } from '../lib/wire/names.ts';
import { type CalledActivities, invoiceActivities } from './activity-options.ts';
import { type Failure, failureOf } from './failure.ts';
import type { Knowledge } from './lifecycle.ts';
import * as lifecycle from './lifecycle.ts';
import {
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
  retrySignal,
  statusQuery,
} from './messages.ts';
import { DEFAULT_PACE, nthBackoff, type Pace } from './pace.ts';

const { invoices } = proxySinks<InvoiceSinks>();

/** Requests of signals since the last `takeRequests`. */
export interface Requests {
  readonly isRetry: boolean;
  readonly isLookUp: boolean;
  /** The look-up includes an invoice that is loaded: a lost void is found only by asking. */
  readonly isRecheck: boolean;
  /** The service states other totals than the loaded ones. */
  readonly isFileInDoubt: boolean;
}

const NO_REQUESTS: Requests = { isRetry: false, isLookUp: false, isRecheck: false, isFileInDoubt: false };

export class InvoiceRun {
  readonly input: InvoiceInput;
  readonly pace: Pace;
  readonly activities: CalledActivities;
  knowledge: Knowledge;
  /** Received and not yet processed. */
  readonly events: InvoiceEvent[] = [];
  requests = NO_REQUESTS;
  /** Times the service was asked because the finalized event was overdue. */
  overdueChecks: number;
  /** Failed series of attempts in a row, and their pauses in total. */
  failedSeries: number;
  pausedMs: number;
  /** A URL that the service has just made and that is not used yet. */
  freshUrl: ExportLocation | null = null;
  /** The rejected file: the same bytes would be rejected again, so a retry requests others. */
  rejectedSha256: string | null;
  rejectedTag: FileTag | null;
  repairChecks: number;
  /** Code of the failure that the warehouse has recorded; only changes are recorded. */
  recordedFailure: string | null;
  /** Times the service denied a void. */
  denials: number;
  /** An earlier run, or the endpoint, marked the invoice; the mark ends with the problem. */
  hadAttention = false;
  lastFailure: InvoiceStatus['lastFailure'] = null;
  readonly #replyTo: Set<string>;
  #publishedState: InvoiceState | null;

  /** Sets the handlers before the first await: signals may be delivered before the workflow function continues. */
  constructor(input: InvoiceInput) {
    const { carried } = input;
    this.input = input;
    this.pace = { ...DEFAULT_PACE, ...input.pace };
    this.activities = invoiceActivities(this.pace);
    this.knowledge = carried?.knowledge ?? lifecycle.NOTHING_KNOWN;
    this.overdueChecks = carried?.overdueChecks ?? 0;
    this.failedSeries = carried?.failedSeries ?? 0;
    this.pausedMs = carried?.pausedMs ?? 0;
    this.recordedFailure = carried?.recordedFailure ?? null;
    this.denials = carried?.denials ?? 0;
    this.rejectedSha256 = carried?.rejectedSha256 ?? null;
    this.rejectedTag = carried?.rejectedTag ?? null;
    this.repairChecks = carried?.repairChecks ?? 0;
    this.#replyTo = new Set(carried?.replyTo);
    // The start sets this state.
    this.#publishedState = carried === undefined ? 'draft' : null;
    if (input.lookUp !== undefined) this.#requestLookUp(input.lookUp);
    setHandler(invoiceEventSignal, (event) => this.#receive(event));
    setHandler(retrySignal, () => {
      this.requests = { ...this.requests, isRetry: true };
    });
    setHandler(lookUpSignal, (request) => this.#requestLookUp(request));
    setHandler(statusQuery, () => this.#status());
  }

  get hasNews(): boolean {
    return this.events.length > 0 || this.requests.isRetry || this.requests.isLookUp;
  }

  takeRequests(): Requests {
    const taken = this.requests;
    this.requests = NO_REQUESTS;
    return taken;
  }

  /** For requests that were taken and could not be answered. */
  restoreRequests({ isRecheck, isFileInDoubt }: Requests): void {
    const { requests } = this;
    this.requests = {
      isRetry: requests.isRetry,
      isLookUp: true,
      isRecheck: requests.isRecheck || isRecheck,
      isFileInDoubt: requests.isFileInDoubt || isFileInDoubt,
    };
  }

  /** Sends the result to the backfills that asked; one that has ended does not need it. */
  async reply(outcome: Omit<BackfillReply, 'invoiceId'>): Promise<void> {
    const { invoiceId } = this.input;
    for (const workflowId of this.#replyTo) {
      this.#replyTo.delete(workflowId);
      try {
        const backfill = getExternalWorkflowHandle(workflowId);
        await backfill.signal(backfillReplySignal, { invoiceId, ...outcome });
      } catch (error) {
        log.info('the workflow that asked for the result has ended', { workflowId, error });
      }
    }
  }

  /** For ledger updates, without which nothing else makes sense. */
  async retryUntilDone<T>(name: string, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await CancellationScope.nonCancellable(work);
      } catch (error) {
        const failure = failureOf(error);
        this.fail(failure);
        log.warn(`${name} failed and is retried`, { code: failure.code });
        await sleep(nthBackoff(this.pace, attempt));
      }
    }
  }

  /** Ends early for an event or a new request. */
  async pause(milliseconds: number): Promise<void> {
    const wasLookUp = this.requests.isLookUp;
    await condition(
      () => this.events.length > 0 || this.requests.isRetry || (this.requests.isLookUp && !wasLookUp),
      milliseconds,
    );
  }

  async backOff(): Promise<void> {
    await this.pause(nthBackoff(this.pace, this.failedSeries));
  }

  /** Counts a failed series and its pause. */
  async backOffAfterSeries(): Promise<void> {
    const milliseconds = nthBackoff(this.pace, this.failedSeries);
    this.failedSeries += 1;
    this.pausedMs += milliseconds;
    await this.pause(milliseconds);
  }

  resetSeries(): void {
    this.failedSeries = 0;
    this.pausedMs = 0;
  }

  fail({ code, message }: Failure): void {
    this.lastFailure = { code, message, at: new Date().toISOString() };
  }

  /** Stores the current failure on the invoice, or clears it; only when it changes. */
  async recordFailure(failure: { code: string; reason: string } | null, isAlert = false): Promise<void> {
    const code = failure?.code ?? null;
    if (code === this.recordedFailure) return;
    const { invoiceId } = this.input;
    await this.retryUntilDone('recording a failure', () =>
      this.activities.recordFailure({ invoiceId, failure, isAlert }),
    );
    this.recordedFailure = code;
  }

  /** Only when the state changes: each update is a command in the history. */
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
    const { knowledge, overdueChecks, failedSeries, pausedMs, recordedFailure, denials } = this;
    const { rejectedSha256, rejectedTag, repairChecks } = this;
    const { lookUp: _, ...input } = this.input;
    return continueAsNew<(next: InvoiceInput) => Promise<InvoiceResult>>({
      ...input,
      carried: {
        ...{ knowledge, overdueChecks, failedSeries, pausedMs, recordedFailure, denials },
        ...{ rejectedSha256, rejectedTag, repairChecks, replyTo: [...this.#replyTo] },
      },
    });
  }

  /**
   * Throwing here would block the run, so anything that is not an event of this invoice is dropped with an alert: billsync
   * sends none, but another program may copy signals. For an event type that only a newer endpoint knows, the service is
   * asked.
   */
  #receive(event: unknown): void {
    if (!isEventOf(this.input.invoiceId, event)) {
      log.warn('dropped a signal that is not an event of this invoice');
      invoices.foreignEvent();
    } else if (isEventType(event.eventType)) this.events.push(event);
    else this.#requestLookUp(undefined);
  }

  #requestLookUp(request: LookUpRequest | undefined): void {
    const { isRetry, isFileInDoubt } = this.requests;
    this.requests = {
      ...{ isRetry, isLookUp: true, isRecheck: true },
      isFileInDoubt: isFileInDoubt || request?.isFileInDoubt === true,
    };
    if (typeof request?.replyTo === 'string') this.#replyTo.add(request.replyTo);
  }

  #status(): InvoiceStatus {
    const { knowledge, lastFailure } = this;
    const { attention, seen } = knowledge;
    return { state: lifecycle.stateOf(knowledge), seen: seen.length, attention, lastFailure };
  }
}

/** Ids are UUIDs, so their case does not matter. */
function isEventOf(invoiceId: string, value: unknown): value is InvoiceEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { eventId, eventType, invoice } = value as Partial<InvoiceEvent>;
  const isEvent = typeof eventId === 'string' && typeof eventType === 'string';
  return isEvent && invoice?.invoiceId?.toLowerCase() === invoiceId.toLowerCase();
}
