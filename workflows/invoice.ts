/**
 * One invoice's life, from the first event heard of it until it is loaded or voided.
 *
 * Signals only queue; one loop drains them, takes each event into the ledger first, asks the pure lifecycle what to
 * do, and does it. It never dies of business trouble: what cannot go on is parked with a reason and waits for a
 * retry or a new event. A void stops whatever runs, once a commit in progress has ended.
 */

import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  log,
  patched,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { InvoiceLedger } from '../activities/ledger.js';
import type { LoadInvoiceResult } from '../activities/load-invoice.js';
import type { FileTag } from '../billing/billing-service.js';
import type { ExportLocation, InvoiceEvent } from '../contract/invoice-event.js';
import { type InvoiceState, rankOfEvent } from '../contract/names.js';
import { askAboutVoid } from './ask-about-void.js';
import { askService } from './ask-service.js';
import { type Failure, failureOf } from './failure.js';
import { findRepairedFile } from './find-repaired-file.js';
import { type ArrivedFile, getFile } from './get-file.js';
import { InvoiceMailbox } from './invoice-mailbox.js';
import type { Announcement, Attention, Knowledge } from './lifecycle.js';
import * as lifecycle from './lifecycle.js';
import type { InvoiceInput, InvoiceResult, InvoiceStatus } from './messages.js';
import { type CalledActivities, invoiceActivities } from './options.js';
import { DEFAULT_PACE, inMilliseconds, nthBackoff, type Pace } from './pace.js';
import { environmentKey, invoiceStateKey } from './search-attribute-keys.js';

/** One run for each invoice id (ADR 1); ends when the invoice is loaded or voided and nothing waits. */
export async function invoice(input: InvoiceInput): Promise<InvoiceResult> {
  return new InvoiceRun(input).live();
}

class InvoiceRun {
  private readonly input: InvoiceInput;
  private readonly pace: Pace;
  private readonly activities: CalledActivities;
  private readonly mailbox: InvoiceMailbox;
  private knowledge: Knowledge;
  /** How often the service was asked because the finalized event is overdue. */
  private asked: number;
  /** How many series of attempts failed in a row, and how long they paused in all. */
  private failedSeries: number;
  private pausedMs: number;
  /** A URL that asking brought to light and nothing used yet. */
  private freshUrl: ExportLocation | null = null;
  /** Hash of the file whose rows were refused: the same bytes would be refused again, so a retry asks for others. */
  private refusedSha256: string | null;
  private refusedTag: FileTag | null;
  /** How often the service was asked whether it has repaired that file. */
  private repairAsks: number;
  /** What is noted on the invoice as going wrong; only changes are told. */
  private notedFailure: string | null;
  /** How often the service denied a void, and from when on it is asked again. */
  private denials: number;
  /** An earlier run, or the endpoint, left it to a person; what is settled by now no longer needs one. */
  private wasParked = false;
  private shownState: InvoiceState | null;
  private lastFailure: InvoiceStatus['lastFailure'] = null;
  private doing = 'starting';

  /** State first, then the handlers, then the first await: handlers can run before the main loop does. */
  constructor(input: InvoiceInput) {
    this.input = input;
    this.pace = { ...DEFAULT_PACE, ...input.pace };
    this.knowledge = input.carried?.knowledge ?? lifecycle.NOTHING_KNOWN;
    this.asked = input.carried?.asked ?? 0;
    this.failedSeries = input.carried?.failedSeries ?? 0;
    this.pausedMs = input.carried?.pausedMs ?? 0;
    this.notedFailure = input.carried?.notedFailure ?? null;
    this.denials = input.carried?.denials ?? 0;
    this.refusedSha256 = input.carried?.refusedSha256 ?? null;
    this.refusedTag = input.carried?.refusedTag ?? null;
    this.repairAsks = input.carried?.repairAsks ?? 0;
    // A start says so itself.
    this.shownState = this.isShort && input.carried === undefined ? 'draft' : null;
    this.mailbox = new InvoiceMailbox(input, () => this.status());
    this.activities = invoiceActivities(this.pace);
  }

  async live(): Promise<InvoiceResult> {
    if (this.input.carried === undefined && this.mailbox.events.length === 0) await this.recall();
    for (;;) {
      await this.drain();
      if (workflowInfo().continueAsNewSuggested && !this.mailbox.hasNews) return this.continue();
      const step = lifecycle.nextStep(this.knowledge);
      // What is over in a moment is not worth telling.
      if (!this.isShort || step !== 'load' || this.failedSeries > 0) this.show();
      switch (step) {
        case 'void':
          await this.applyVoid();
          break;
        case 'confirm':
          await this.confirmVoid();
          break;
        case 'load':
          // Its void may have been lost as well; a service that cannot say must not keep the file from us.
          if (this.mailbox.isRecheckWanted && (await this.ask()) !== false) break;
          await this.unlessVoided(() => this.bringFile());
          break;
        case 'wait':
          await this.waitForFinalized();
          break;
        case 'look-up': {
          const isKnown = await this.lookUpUnheard();
          if (!isKnown && !this.mailbox.hasNews && (await this.isSaid('unknown')))
            return this.result('unknown');
          break;
        }
        case 'attention':
          await this.waitForPerson();
          break;
        case 'done':
          await this.resumeIfParked();
          if (await this.isOver()) return this.result(lifecycle.stateOf(this.knowledge));
      }
    }
  }

  /** Takes every queued event into the ledger, then into account, in that order. */
  private async drain(): Promise<void> {
    for (let event = this.mailbox.events[0]; event !== undefined; event = this.mailbox.events[0]) {
      if (!this.knowledge.seen.includes(event.eventId)) await this.take(event);
      this.mailbox.events.shift();
    }
  }

  private async take(event: InvoiceEvent): Promise<void> {
    const wasParked = this.knowledge.attention !== null;
    const isVoid = rankOfEvent(event.eventType) === 'voided';
    // What earlier runs did has to be asked for once, and of a void whether a person has answered it.
    const isAsked = !this.isShort || isVoid || this.knowledge.seen.length === 0;
    const ledger = isAsked ? await this.record(event) : null;
    // Finalized and not loaded: the event that says so is in the archive, and on its way here with its URL.
    const isOnItsWay = this.isShort && !isVoid && ledger?.state === 'finalized';
    if (ledger !== null) this.recallFrom(isOnItsWay ? { ...ledger, state: null } : ledger);
    // Whoever tells again of a void that a person undid says nothing new.
    const take = isVoid && ledger?.isRestored === true ? lifecycle.ignore : lifecycle.hear;
    this.knowledge = take(this.knowledge, event);
    if (event.export !== null) this.startSeriesAfresh();
    if (wasParked && this.knowledge.attention === null) await this.resume();
  }

  /** The first of a run costs no task of its own: to record it twice does no harm. */
  private record(event: InvoiceEvent): Promise<InvoiceLedger> {
    const isFirst = this.isShort && this.knowledge.seen.length === 0;
    const record = isFirst ? this.activities.recordFirstEvent : this.activities.recordEvent;
    return this.surely('recording an event', () => record({ event }));
  }

  private get isShort(): boolean {
    return this.input.isShort === true;
  }

  private async recall(): Promise<void> {
    const { invoiceId } = this.input;
    const ledger = await this.surely('reading the ledger', () =>
      this.activities.recallInvoice({ invoiceId }),
    );
    this.recallFrom(ledger);
    this.wasParked = ledger.state === 'needs_attention' && (ledger.voidWord ?? null) === null;
  }

  private recallFrom(ledger: InvoiceLedger): void {
    this.knowledge = lifecycle.recall(this.knowledge, recorded(ledger));
    if (ledger.failureCode !== undefined) this.notedFailure = ledger.failureCode;
  }

  private async applyVoid(): Promise<void> {
    const { invoiceId } = this.input;
    await this.surely('voiding', () => this.activities.voidInvoice({ invoiceId }));
    this.knowledge = lifecycle.settleVoid(this.knowledge);
  }

  /**
   * The invoice is out of every total already. The service is asked at once, and while it denies the void again after
   * each of the pauses; then a person has to decide. A service that cannot be asked leaves the void as it stands.
   */
  private async confirmVoid(): Promise<void> {
    if (!this.pace.confirmVoids || !patched('confirm-void')) {
      this.knowledge = lifecycle.settleVoidWord(this.knowledge, 'unanswered');
      return;
    }
    this.doing = 'asking the service about the void';
    this.mailbox.takeRequests();
    const answer = await askAboutVoid(this.activities, this.input.invoiceId);
    switch (answer.outcome) {
      case 'confirmed':
        return this.settleVoid('details');
      case 'unaskable':
        return this.leaveVoid(answer.message);
      case 'later': {
        this.fail({ code: 'unreachable', message: answer.message });
        if (this.pausedMs >= inMilliseconds(this.pace.attentionAfter)) return this.leaveVoid(answer.message);
        const milliseconds = nthBackoff(this.pace, this.failedSeries);
        this.failedSeries += 1;
        this.pausedMs += milliseconds;
        return this.pause(milliseconds);
      }
      case 'denied': {
        const wait = this.pace.confirmVoidAfter[this.denials];
        this.denials += 1;
        if (wait !== undefined) return this.pauseBeforeAsking(inMilliseconds(wait));
        const reason = `An event voided it, and the service says that it is ${answer.status}. No total has it until that is settled. \`billsync invoices restore\` brings it back; once the service says voided too, \`billsync invoices retry\` ends this.`;
        this.denials = 0;
        await this.park({ code: lifecycle.VOID_CONTRADICTED, reason });
        // Not parked: something was heard in that moment, and it is asked once more.
        if (this.knowledge.attention !== null) {
          this.knowledge = lifecycle.settleVoidWord(this.knowledge, 'contradicted');
        }
      }
    }
  }

  private async settleVoid(word: 'details' | 'unanswered'): Promise<void> {
    this.startSeriesAfresh();
    this.denials = 0;
    this.knowledge = lifecycle.settleVoidWord(this.knowledge, word);
  }

  private async leaveVoid(message: string): Promise<void> {
    const reason = `An event voided it, and the service could not confirm that: ${message}`;
    await this.note({ code: 'void-unconfirmed', reason });
    return this.settleVoid('unanswered');
  }

  /** What is heard meanwhile is taken in; only somebody who wants to know has the service asked before its time. */
  private async pauseBeforeAsking(milliseconds: number): Promise<void> {
    const until = Date.now() + milliseconds;
    const { mailbox } = this;
    while (Date.now() < until && !mailbox.isLookUpWanted && !mailbox.isRetryWanted) {
      if (mailbox.events.length > 0) await this.drain();
      else await condition(() => mailbox.hasNews, until - Date.now());
    }
    if (mailbox.hasNews) await this.learnOfRestore();
  }

  /** Somebody wants to know: it may be because a person has undone the void. @returns whether one has */
  private async learnOfRestore(): Promise<boolean> {
    const { invoiceId } = this.input;
    const ledger = await this.surely('reading the ledger', () =>
      this.activities.recallInvoice({ invoiceId }),
    );
    if (ledger.isRestored !== true) return false;
    this.knowledge = lifecycle.restore(this.knowledge, recorded(ledger));
    this.denials = 0;
    return true;
  }

  /** What keeps failing stands on the invoice for everybody to see; told when it changes, not at every attempt. */
  private async note(failure: { code: string; reason: string } | null, isAlert = false): Promise<void> {
    const code = failure?.code ?? null;
    if (code === this.notedFailure || !patched('failure-on-invoice')) return;
    const { invoiceId } = this.input;
    await this.surely('noting what fails', () =>
      this.activities.noteFailure({ invoiceId, failure, isAlert }),
    );
    this.notedFailure = code;
  }

  /** Draft: asks when the finalized event is overdue, or when somebody wants to know. */
  private async waitForFinalized(): Promise<void> {
    const isAsked = this.mailbox.isLookUpWanted || this.mailbox.isRetryWanted;
    if (isAsked && !(await this.ask())) return this.pause(nthBackoff(this.pace, this.failedSeries));
    if (lifecycle.nextStep(this.knowledge) !== 'wait') return;
    await this.mailbox.reply({ state: 'draft', reason: null });
    this.doing = 'waiting for the invoice to be finalized';
    const { overdueAfter } = this.pace;
    const after = overdueAfter[Math.min(this.asked, overdueAfter.length - 1)] ?? '24 h';
    if (await condition(() => this.mailbox.hasNews, after)) return;
    this.asked += 1;
    this.mailbox.isLookUpWanted = true;
  }

  /** No event was heard: only the service can say whether there is such an invoice. */
  private async lookUpUnheard(): Promise<boolean> {
    const answer = await this.ask();
    if (answer === false) await this.pause(nthBackoff(this.pace, this.failedSeries));
    return answer === false || answer.isKnown;
  }

  /** @returns false when the service could not be asked; the pause that follows grows with each time */
  private async ask(): Promise<false | { readonly isKnown: boolean }> {
    this.doing = 'asking the service';
    const requests = this.mailbox.takeRequests();
    try {
      const answer = await askService(this.activities, this.input.invoiceId);
      this.failedSeries = 0;
      if (this.notedFailure !== null && this.isOfAsking) await this.note(null);
      this.freshUrl = answer.location;
      const status = answer.status ?? (answer.isKnown ? 'draft' : null);
      this.knowledge = lifecycle.learnStatus(this.knowledge, status);
      return { isKnown: answer.isKnown };
    } catch (error) {
      const failure = failureOf(error);
      this.fail(failure);
      this.failedSeries += 1;
      this.mailbox.requestAgain(requests);
      const isUnknown = this.knowledge.rank === 'nothing';
      if (!isUnknown && this.knowledge.loadedSha256 === null) {
        await this.note({ code: failure.code, reason: `${failure.message} ${TRIED_AGAIN}` });
      }
      return false;
    }
  }

  /** One series of attempts at the file and its load; a failed one is followed by a pause, or by a person. */
  private async bringFile(): Promise<void> {
    const { invoiceId } = this.input;
    const { announcement } = this.knowledge;
    this.mailbox.takeRequests();
    this.doing = 'getting the file';
    const location = announcement?.location ?? null;
    const isRefused = location !== null && location.fileHashSha256 === this.refusedSha256;
    const { freshUrl: regenerated, failedSeries } = this;
    const request = {
      ...{ invoiceId, announced: isRefused ? null : location, regenerated, failedSeries },
      load: this.isShort ? { eventId: announcement?.eventId ?? null } : null,
    };
    this.freshUrl = null;
    const file = await getFile(this.activities, request);
    if (file.outcome === 'arrived') return this.load(file, announcement);
    this.fail(file);
    const limit = file.code === 'not-exported' ? this.pace.attentionAfterMissing : this.pace.attentionAfter;
    if (file.outcome === 'person' || this.pausedMs >= inMilliseconds(limit)) {
      return this.park({ code: file.code, reason: adviceFor(file, this.failedSeries + 1) });
    }
    await this.note({ code: file.code, reason: `${file.message} ${TRIED_AGAIN}` });
    const milliseconds = nthBackoff(this.pace, this.failedSeries);
    this.failedSeries += 1;
    this.pausedMs += milliseconds;
    await this.pause(milliseconds);
  }

  private async load(file: ArrivedFile, announcement: Announcement | null): Promise<void> {
    this.doing = 'loading';
    const { sha256, tag, mismatch } = file;
    let result: LoadInvoiceResult;
    try {
      result = file.loaded ?? (await this.loadArrived(file, announcement));
    } catch (error) {
      const failure = failureOf(error);
      this.fail(failure);
      const reason = `Loading failed in every attempt: ${failure.message} ${AFTER_THE_CAUSE}`;
      return this.park({ code: 'load-failed', reason });
    }
    switch (result.outcome) {
      case 'loaded':
      case 'already_loaded': {
        const announcedHash = announcement?.location.fileHashSha256 ?? null;
        this.knowledge = lifecycle.settleLoad(this.knowledge, { sha256, announcedSha256: announcedHash });
        this.startSeriesAfresh();
        this.lastFailure = null;
        // A load ends what is noted by itself; one that was there already does not.
        if (result.outcome === 'already_loaded' && this.notedFailure !== null) await this.note(null);
        this.notedFailure = null;
        return;
      }
      case 'voided':
        // By whom the ledger knows, from which the run learns it.
        this.knowledge = lifecycle.learnVoid(this.knowledge);
        return;
      case 'rejected':
      case 'contradicted': {
        if (this.refusedSha256 !== sha256) this.repairAsks = 0;
        this.refusedSha256 = sha256;
        this.refusedTag = tag;
        const code = mismatch !== null ? 'hash-mismatch' : CODE_OF_REFUSED_LOAD[result.outcome];
        await this.park({ code, reason: mismatch === null ? result.reason : `${mismatch} ${result.reason}` });
      }
    }
  }

  private loadArrived(file: ArrivedFile, announcement: Announcement | null): Promise<LoadInvoiceResult> {
    if (this.isShort) this.show();
    const { sha256, source, announcedSha256, encodedSha256 } = file;
    return this.activities.loadInvoice({
      ...{ invoiceId: this.input.invoiceId, sha256, source, announcedSha256 },
      ...(encodedSha256 === null ? {} : { encodedSha256 }),
      eventId: announcement?.eventId ?? null,
      workflowRunId: workflowInfo().runId,
    });
  }

  private async park(attention: Attention): Promise<void> {
    // A newer event arrived meanwhile and may have cured it: try that first.
    if (this.mailbox.events.length > 0) return;
    const heardBefore = this.knowledge.seen.length;
    const request = { invoiceId: this.input.invoiceId, ...attention };
    await this.surely('recording why it needs attention', () => this.activities.parkInvoice(request));
    if (this.knowledge.seen.length > heardBefore) return this.resume();
    this.knowledge = lifecycle.park(this.knowledge, attention);
  }

  private async waitForPerson(): Promise<void> {
    const { mailbox } = this;
    if (this.knowledge.rank === 'voided' && mailbox.hasNews) {
      if (await this.isVoidSettled()) return;
    } else if (mailbox.isRetryWanted) {
      mailbox.takeRequests();
      this.startSeriesAfresh();
      this.knowledge = lifecycle.unpark(this.knowledge);
      return this.resume();
    }
    if (mailbox.isRecheckWanted && (await this.ask()) === false) {
      return this.pause(nthBackoff(this.pace, this.failedSeries));
    }
    mailbox.takeRequests();
    await mailbox.reply({ state: 'needs_attention', reason: this.knowledge.attention?.reason ?? null });
    this.doing = 'waiting for a person or a new event';
    if (this.knowledge.attention?.code === 'csv-rejected' && patched('ask-for-repaired-file')) {
      return this.waitForRepair();
    }
    await condition(() => mailbox.hasNews);
  }

  /** The service may have repaired a file that broke a rule: it is asked at widening intervals, for as long as it takes. */
  private async waitForRepair(): Promise<void> {
    const { repairAfter } = this.pace;
    const after = repairAfter[Math.min(this.repairAsks, repairAfter.length - 1)] ?? '16 d';
    if (await condition(() => this.mailbox.hasNews, after)) return;
    this.repairAsks += 1;
    const { invoiceId } = this.input;
    const repaired = await findRepairedFile(this.activities, {
      invoiceId,
      refusedSha256: this.refusedSha256,
      refusedTag: this.refusedTag,
    });
    if (repaired === null || this.mailbox.hasNews) return;
    this.freshUrl = repaired.location;
    this.startSeriesAfresh();
    this.knowledge = lifecycle.unpark(this.knowledge);
    return this.resume();
  }

  /** A denied void: a person undid it, or the service says now what its event said. */
  private async isVoidSettled(): Promise<boolean> {
    this.mailbox.takeRequests();
    if (await this.learnOfRestore()) return true;
    const { outcome } = await askAboutVoid(this.activities, this.input.invoiceId);
    if (outcome !== 'confirmed') return false;
    await this.settleVoid('details');
    await this.applyVoid();
    return true;
  }

  /** A delivery that was refused needs nobody any more once the service has told what the invoice is. */
  private async resumeIfParked(): Promise<void> {
    if (!this.wasParked) return;
    this.wasParked = false;
    if (this.knowledge.rank === 'finalized' && patched('resume-what-is-settled')) await this.resume();
  }

  private async resume(): Promise<void> {
    const { invoiceId } = this.input;
    await this.surely('resuming', () => this.activities.resumeInvoice({ invoiceId }));
  }

  /** Settled: a recheck asks once more, since a lost void is found no other way. */
  private async isOver(): Promise<boolean> {
    const { mailbox } = this;
    if (mailbox.isRecheckWanted && this.knowledge.rank !== 'voided') {
      const { isFileInDoubt } = mailbox;
      const answer = await this.ask();
      this.freshUrl = null;
      if (answer === false) await this.recheckFailed();
      else if (isFileInDoubt) this.knowledge = lifecycle.doubtFile(this.knowledge);
      return false;
    }
    // Of a void that a person undid only who starts a run or asks one knows.
    if (mailbox.hasNews && this.knowledge.rank === 'voided' && patched('restored')) {
      mailbox.takeRequests();
      if (await this.learnOfRestore()) return false;
    }
    mailbox.takeRequests();
    return this.isSaid(lifecycle.stateOf(this.knowledge));
  }

  /** Three series without an answer are told, and left to the next reconciliation: it asks again. */
  private async recheckFailed(): Promise<void> {
    if (this.failedSeries < UNANSWERED_AFTER) return this.pause(nthBackoff(this.pace, this.failedSeries));
    const { message } = this.lastFailure ?? { message: 'It does not answer.' };
    const reason = `The service was asked three times whether it is voided, and did not answer: ${message}`;
    await this.note({ code: 'recheck-unanswered', reason }, true);
    if (this.notedFailure === 'recheck-unanswered') this.mailbox.takeRequests();
    else await this.pause(nthBackoff(this.pace, this.failedSeries));
  }

  /** What is noted now is about asking, which an answer ends; a file that does not come is ended by a load. */
  private get isOfAsking(): boolean {
    return this.notedFailure === 'recheck-unanswered' || this.knowledge.rank !== 'finalized';
  }

  /** The last wait of a run. @returns false when something was heard meanwhile, which this run has to deal with */
  private async isSaid(state: InvoiceResult['state']): Promise<boolean> {
    this.show();
    await this.mailbox.reply({ state, reason: null });
    await condition(allHandlersFinished);
    return !this.mailbox.hasNews;
  }

  private result(state: InvoiceResult['state']): InvoiceResult {
    return { state, sha256: this.knowledge.loadedSha256 };
  }

  private async continue(): Promise<never> {
    await condition(allHandlersFinished);
    const {
      knowledge,
      asked,
      failedSeries,
      pausedMs,
      notedFailure,
      denials,
      refusedSha256,
      refusedTag,
      repairAsks,
    } = this;
    const owed = this.mailbox.pendingReplies;
    const repair = { refusedSha256, refusedTag, repairAsks };
    const carried = { knowledge, asked, failedSeries, pausedMs, owed, notedFailure, denials, ...repair };
    const { lookUp: _, ...input } = this.input;
    return continueAsNew<typeof invoice>({ ...input, carried });
  }

  /**
   * Runs `work` and meanwhile keeps taking in what is heard. A void cancels it and waits until it has really
   * stopped: a download would bring back what the void is about to take out.
   */
  private async unlessVoided(work: () => Promise<void>): Promise<void> {
    const scope = new CancellationScope();
    let isOver = false;
    const running = scope.run(work).finally(() => {
      isOver = true;
    });
    running.catch(() => {}); // Awaited below; until then its failure must not count as unhandled.
    while (!isOver) {
      await condition(() => isOver || this.mailbox.events.length > 0);
      await this.drain();
      if (!isOver && this.knowledge.rank === 'voided') scope.cancel();
    }
    try {
      await running;
    } catch (error) {
      if (!(isCancellation(error) && this.knowledge.rank === 'voided')) throw error;
    }
  }

  /** Ledger work has to be done before anything else makes sense; it is tried until it is. */
  private async surely<T>(what: string, work: () => Promise<T>): Promise<T> {
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
  private async pause(milliseconds: number): Promise<void> {
    this.doing = 'backing off';
    const { mailbox } = this;
    const wasWanted = mailbox.isLookUpWanted;
    await condition(
      () => mailbox.events.length > 0 || mailbox.isRetryWanted || (mailbox.isLookUpWanted && !wasWanted),
      milliseconds,
    );
  }

  private startSeriesAfresh(): void {
    this.failedSeries = 0;
    this.pausedMs = 0;
  }

  private fail({ code, message }: Failure): void {
    this.lastFailure = { code, message, at: new Date().toISOString() };
  }

  /** Search attributes cost a command each time, so only changes are told. */
  private show(): void {
    const state = lifecycle.stateOf(this.knowledge);
    if (state === this.shownState) return;
    this.shownState = state;
    upsertSearchAttributes([
      { key: invoiceStateKey, value: state },
      { key: environmentKey, value: this.input.environment },
    ]);
  }

  private status(): InvoiceStatus {
    const { knowledge, lastFailure, doing } = this;
    const { attention, seen } = knowledge;
    return { state: lifecycle.stateOf(knowledge), seen: seen.length, attention, lastFailure, doing };
  }
}

const CODE_OF_REFUSED_LOAD = { rejected: 'csv-rejected', contradicted: 'header-contradicted' } as const;

function recorded({ state, loadedSha256, voidWord = null }: InvoiceLedger): lifecycle.Ledger {
  const rank = state === null ? 'nothing' : lifecycle.rankOfState(state);
  // The state of a void that the service denies hides its rank.
  return { rank: voidWord === null ? rank : 'voided', loadedSha256, voidWord };
}

/** So many series of attempts to ask about a loaded invoice fail before somebody is told. */
const UNANSWERED_AFTER = 3;
const TRIED_AGAIN = 'It is tried again by itself.';

const AFTER_THE_CAUSE = 'Once the cause is gone, `billsync invoices retry` tries again; so does a new event.';

function adviceFor({ message }: Failure, series: number): string {
  const tried = series === 1 ? '' : ` ${series} series of attempts were made.`;
  return `${message}${tried} ${AFTER_THE_CAUSE}`;
}
