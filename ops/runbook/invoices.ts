/** Alerts about one invoice each, and about reports. */

import type { RunbookEntry } from './entry.js';

export const INVOICES = {
  attention: {
    severity: 'warning',
    each: 'invoice',
    meaning:
      'The invoice cannot be loaded without a person: its file or an answer about it is wrong for good. It is in no total until then.',
    firstLook: [
      '`billsync invoices show ID`: what was tried, what came',
      '`billsync quarantine show FILE` for a file: line, column and rule',
    ],
    cure: [
      'Tell the billing service; when it has corrected the invoice: `billsync invoices retry ID`.',
      'A file that a person exported: `billsync import FILE --invoice ID`.',
      'A refused right (403): have the scope added to our credentials, then retry.',
    ],
    proof: '`billsync invoices show ID` says loaded (or voided), which takes the alert back.',
  },
  retries: {
    severity: 'warning',
    meaning:
      'Steps of invoices fail again and again: a call, a download or a load. Each is tried again with growing pauses for days; the alert names the first invoices and the reason.',
    firstLook: [
      'the reason in the alert',
      '`billsync invoices show ID`',
      '`temporal_activity_execution_failed_total` by activity, `billsync_service_calls_total` by answer',
    ],
    cure: [
      'Every invoice: see `service/unwell`, `credentials`, `disk/full`.',
      'One invoice: tell the billing service what it answers; `billsync invoices retry ID` does not wait for the pause.',
    ],
    proof: 'The alert is taken back when the step goes well.',
  },
  failure: {
    severity: 'warning',
    each: 'invoice',
    meaning:
      'A loaded invoice cannot be asked about, so a void of it would not be noticed. It counts as it is loaded.',
    firstLook: ['`billsync invoices show ID`', '`billsync doctor` (billing service)'],
    cure: ['Ask the service about this invoice; then `billsync backfill ID --wait`.'],
    proof: 'The next answer takes the alert back.',
  },
  'unknown-status': {
    severity: 'warning',
    each: 'invoice',
    meaning: 'The service gives the invoice a status that billsync does not know. Nothing was changed by it.',
    firstLook: ['`billsync invoices show ID`'],
    cure: ['Ask the service what the word means. If it is a void, have the invoice voided by an event.'],
    proof: 'The next answer with a known status takes the alert back.',
  },
  announcement: {
    severity: 'warning',
    each: 'invoice',
    meaning:
      'Another file came than the event announced by hash or size. What came was proved in another way, is loaded and counts.',
    firstLook: ['`billsync invoices show ID`: both hashes and sizes'],
    cure: [
      'Ask the service which file it means.',
      'If it is an older one: `billsync invoices use-version ID VERSION --reason TEXT`.',
    ],
    proof: 'A later file that agrees takes the alert back.',
  },
  totals: {
    severity: 'warning',
    each: 'invoice',
    meaning:
      'The rows of the file contradict the total, count or currency that the invoice states. The rows count.',
    firstLook: ['`billsync invoices show ID`: stated and loaded', '`billsync report proof`'],
    cure: ['Dispute it with the service; a corrected file replaces this one by itself.'],
    proof: 'A later file that agrees takes the alert back.',
  },
  'voided-after-load': {
    severity: 'info',
    each: 'invoice',
    isNotice: true,
    meaning: 'An invoice that counted was voided; its shipments left every total.',
    firstLook: ['`billsync invoices show ID`: since when it counted'],
    cure: [
      'Tell whoever was given figures with it. If the void is a mistake of the service: `billsync invoices restore ID --reason TEXT`.',
      '`billsync alerts acknowledge voided-after-load/ID` ends the alert.',
    ],
    proof: '`billsync report rebills` shows what was billed again in its place.',
  },
  report: {
    severity: 'info',
    each: 'file',
    isNotice: true,
    meaning: 'A scheduled report was written.',
    firstLook: ['the file that is named'],
    cure: ['Nothing to do.'],
    proof: 'The file is there.',
  },
  'report-failed': {
    severity: 'warning',
    each: 'schedule',
    meaning: 'A scheduled report could not be written; it is tried again for an hour.',
    firstLook: ['`billsync report --schedule show`', 'room and rights of the folder that it writes to'],
    cure: ['Mend what the alert names; run the report by hand for the period that was missed.'],
    proof: 'The next run takes the alert back.',
  },
} as const satisfies Record<string, RunbookEntry>;
