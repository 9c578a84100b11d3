/** What a run of the invoice workflow knows and is doing, and the few ways in which it waits, tries again and tells of itself. */

import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  log,
  sleep,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { FileTag } from '../../billing/billing-service.ts';
import type { ExportLocation, InvoiceState } from '../../lib/wire/names.ts';
import { type Failure, failureOf } from '../failure.ts';
import { InvoiceMailbox } from '../invoice-mailbox.ts';
import type { Knowledge } from '../lifecycle.ts';
import * as lifecycle from '../lifecycle.ts';
import type { InvoiceInput, InvoiceResult, InvoiceStatus } from '../messages.ts';
import { type CalledActivities, invoiceActivities } from '../options.ts';
import { DEFAULT_PACE, nthBackoff, type Pace } from '../pace.ts';
import { environmentKey, invoiceStateKey } from '../search-attribute-keys.ts';

/** Ends a reason that people read, where nothing is asked of them. */
export const TRIED_AGAIN = 'It is retried automatically.';

export class InvoiceRun {
  readonly input: InvoiceInput;
  readonly pace: Pace;
  readonly activities: CalledActivities;
  readonly mailbox: InvoiceMailbox;
  knowledge: Knowledge;
  /** How often the service was asked because the finalized event is overdue. */
  asked: number;
  /** How many series of attempts failed in a row, and how long they paused in all. */
  failedSeries: number;
  pausedMs: number;
  /** A URL that asking brought to light and nothing used yet. */
  freshUrl: ExportLocation | null = null;
  /** Hash of the file whose rows were refused: the same bytes would be refused again, so a retry asks for others. */
  refusedSha256: string | null;
  refusedTag: FileTag | null;
  /** How often the service was asked whether it has repaired that file. */
  repairAsks: number;
  /** What is noted on the invoice as going wrong; only changes are told. */
  notedFailure: string | null;
  /** How often the service denied a void, and from when on it is asked again. */
  denials: number;
  /** An earlier run, or the endpoint, left it to a person; what is settled by now no longer needs one. */
  wasParked = false;
  lastFailure: InvoiceStatus['lastFailure'] = null;
  /** In a few words, for the status query. */
  doing = 'starting';
  #shownState: InvoiceState | null;

  /** State first, then the handlers, then the first await: handlers can run before the main loop does. */
  constructor(input: InvoiceInput) {
    const { carried } = input;
    this.input = input;
    this.pace = { ...DEFAULT_PACE, ...input.pace };
    this.knowledge = carried?.knowledge ?? lifecycle.NOTHING_KNOWN;
    this.asked = carried?.asked ?? 0;
    this.failedSeries = carried?.failedSeries ?? 0;
    this.pausedMs = carried?.pausedMs ?? 0;
    this.notedFailure = carried?.notedFailure ?? null;
    this.denials = carried?.denials ?? 0;
    this.refusedSha256 = carried?.refusedSha256 ?? null;
    this.refusedTag = carried?.refusedTag ?? null;
    this.repairAsks = carried?.repairAsks ?? 0;
    // A start says so itself.
    this.#shownState = carried === undefined ? 'draft' : null;
    this.mailbox = new InvoiceMailbox(input, () => this.#status());
    this.activities = invoiceActivities(this.pace);
  }

  /** Ledger work has to be done before anything else makes sense; it is tried until it is. */
  async surely<T>(what: string, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await CancellationScope.nonCancellable(work);
      } catch (error) {
        const failure = failureOf(error);
        this.fail(failure);
        log.warn(`${what} failed and is tried again`, { code: failure.code });
        await sleep(nthBackoff(this.pace, attempt));
      }
    }
  }

  /** Ends early when something is heard, since that may be what was waited for. */
  async pause(milliseconds: number): Promise<void> {
    this.doing = 'backing off';
    const { mailbox } = this;
    const wasWanted = mailbox.isLookUpWanted;
    await condition(
      () => mailbox.events.length > 0 || mailbox.isRetryWanted || (mailbox.isLookUpWanted && !wasWanted),
      milliseconds,
    );
  }

  startSeriesAfresh(): void {
    this.failedSeries = 0;
    this.pausedMs = 0;
  }

  fail({ code, message }: Failure): void {
    this.lastFailure = { code, message, at: new Date().toISOString() };
  }

  /** What keeps failing stands on the invoice for everybody to see; told when it changes, not at every attempt. */
  async note(failure: { code: string; reason: string } | null, isAlert = false): Promise<void> {
    const code = failure?.code ?? null;
    if (code === this.notedFailure) return;
    const { invoiceId } = this.input;
    await this.surely('noting what fails', () =>
      this.activities.noteFailure({ invoiceId, failure, isAlert }),
    );
    this.notedFailure = code;
  }

  /** Search attributes cost a command each time, so only changes are told. */
  show(): void {
    const state = lifecycle.stateOf(this.knowledge);
    if (state === this.#shownState) return;
    this.#shownState = state;
    upsertSearchAttributes([
      { key: invoiceStateKey, value: state },
      { key: environmentKey, value: this.input.environment },
    ]);
  }

  /** Hands everything on to the next run, once nobody waits for an answer of this one. */
  async continue(): Promise<never> {
    await condition(allHandlersFinished);
    const { knowledge, asked, failedSeries, pausedMs, notedFailure, denials } = this;
    const { refusedSha256, refusedTag, repairAsks } = this;
    const owed = this.mailbox.pendingReplies;
    const repair = { refusedSha256, refusedTag, repairAsks };
    const carried = { knowledge, asked, failedSeries, pausedMs, owed, notedFailure, denials, ...repair };
    const { lookUp: _, ...input } = this.input;
    return continueAsNew<(next: InvoiceInput) => Promise<InvoiceResult>>({ ...input, carried });
  }

  #status(): InvoiceStatus {
    const { knowledge, lastFailure, doing } = this;
    const { attention, seen } = knowledge;
    return { state: lifecycle.stateOf(knowledge), seen: seen.length, attention, lastFailure, doing };
  }
}
