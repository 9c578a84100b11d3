import type { RunbookEntry } from './entry.ts';

export const INVOICES = {
  attention: {
    severity: 'warning',
    each: 'invoice',
    meaning:
      'The invoice cannot be loaded until a person acts: its file, or an answer about it, is permanently wrong. Until then it is in no total.',
    firstLook: [
      '`billsync invoices show ID`: what was tried, and the answers',
      '`billsync quarantine show FILE` for a file: line, column and rule',
    ],
    cure: [
      'Inform the billing service; when it has corrected the invoice: `billsync invoices retry ID`.',
      'If a person can export the file: `billsync import FILE --invoice ID`.',
      'A missing permission (403): have the scope added to our credentials, then retry.',
    ],
    proof: '`billsync invoices show ID` shows loaded (or voided), which resolves the alert.',
  },
  retries: {
    severity: 'warning',
    meaning:
      'Steps of invoices fail repeatedly: a call, a download or a load. Each is retried for days, with growing pauses; the alert names the first invoices and the reason.',
    firstLook: [
      'the reason in the alert',
      '`billsync invoices show ID`',
      '`temporal_activity_execution_failed_total` by activity, `billsync_service_calls_total` by answer',
    ],
    cure: [
      'If every invoice is affected: see `service/unwell`, `credentials`, `disk/full`.',
      'If one invoice is affected: report the answer to the billing service; `billsync invoices retry ID` retries without waiting for the pause.',
    ],
    proof: 'The alert is resolved when the step succeeds.',
  },
  failure: {
    severity: 'warning',
    each: 'invoice',
    meaning:
      'The service does not return a loaded invoice, so a void would not be detected. The invoice counts as it was loaded.',
    firstLook: ['`billsync invoices show ID`', '`billsync doctor` (billing service)'],
    cure: ['Ask the service about this invoice; then `billsync backfill ID --wait`.'],
    proof: 'The next answer resolves the alert.',
  },
  'unknown-status': {
    severity: 'warning',
    each: 'invoice',
    meaning: 'The service gives the invoice a status that billsync does not know. It has changed nothing.',
    firstLook: ['`billsync invoices show ID`'],
    cure: ['Ask the service what the status means. If it is a void, have the invoice voided by an event.'],
    proof: 'The next answer with a known status resolves the alert.',
  },
  announcement: {
    severity: 'warning',
    each: 'invoice',
    meaning:
      'The file that counts differs in hash or size from the one that the service named: it came before the announcement, could be had in no other way, or a person chose it.',
    firstLook: ['`billsync invoices show ID`: both hashes and sizes'],
    cure: [
      'Ask the service which file it means.',
      'If it is an older one: `billsync invoices use-version ID VERSION --reason TEXT`. If it is a corrected one, that replaces this one automatically and ends the alert.',
      'If it is the received one, note its answer: `billsync alerts acknowledge announcement/ID --note TEXT`.',
    ],
    proof:
      'The alert is resolved when a file with the named hash counts, whose hash `billsync invoices show ID` prints; until then an acknowledged one is listed with its note.',
  },
  outranked: {
    severity: 'warning',
    each: 'invoice',
    isNotice: true,
    meaning:
      'The service gave a file for the invoice whose proof is weaker than that of the version that counts (announced hash, then a hash it was asked for, then header, then none). The file is loaded as a version that does not count.',
    firstLook: [
      '`billsync invoices show ID --diff`: what the new file would change',
      '`billsync invoices show ID`: versions and hashes',
    ],
    cure: [
      'Ask the service which file it means.',
      'If it is the new one: `billsync invoices use-version ID VERSION --reason TEXT`. Else acknowledge the alert.',
    ],
    proof: '`billsync invoices show ID` shows the version that the service means as the one that counts.',
  },
  totals: {
    severity: 'warning',
    each: 'invoice',
    isNotice: true,
    meaning:
      'The rows of the file contradict the total, count or currency that the invoice states. The rows count.',
    firstLook: ['`billsync invoices show ID`: stated and loaded', '`billsync report proof`'],
    cure: [
      'Dispute it with the service; a corrected file replaces this one automatically and ends the alert.',
    ],
    proof: '`billsync report proof` no longer has the difference, or it is known whose mistake it is.',
  },
  'voided-after-load': {
    severity: 'info',
    each: 'invoice',
    isNotice: true,
    meaning: 'An invoice that had been counted was voided; its shipments were removed from every total.',
    firstLook: ['`billsync invoices show ID`: since when it had counted'],
    cure: [
      'Inform everyone who received totals that include it. If the void is the service’s mistake: `billsync invoices restore ID --reason TEXT`.',
    ],
    proof: '`billsync report rebills` shows what was billed again in its place.',
  },
  report: {
    severity: 'info',
    each: 'file',
    isNotice: true,
    meaning: 'A scheduled report was written.',
    firstLook: ['the file that the alert names'],
    cure: ['Read it.'],
    proof: 'The file is there.',
  },
  'report-failed': {
    severity: 'warning',
    each: 'schedule',
    meaning: 'A scheduled report could not be written; it is retried for an hour.',
    firstLook: [
      '`billsync report --schedule show`',
      'free space and permissions of the folder that it is written to',
    ],
    cure: ['Fix what the alert names; run the report yourself for the period that was missed.'],
    proof: 'The next run resolves the alert.',
  },
  'cost-rule': {
    severity: 'warning',
    each: 'rule and finding',
    isNotice: true,
    meaning:
      'A row of a report meets a rule of `user/cost-rules.yaml`. It is reported once, even if its values change; no amount was changed.',
    firstLook: [
      'the page or command that the alert names',
      '`billsync alerts costs`: all that meets a rule now',
    ],
    cure: [
      'Decide whether it is right; dispute it with the service or the carrier if it is not.',
      'A rule that finds too much: change its threshold, `billsync alerts costs` tries it.',
    ],
    proof: '`billsync alerts list` no longer has it.',
  },
  'cost-rules': {
    severity: 'warning',
    meaning:
      'A rule of `user/cost-rules.yaml` cannot be applied, or the file cannot be read: what it should find is not reported.',
    firstLook: ['line, rule and reason in the alert', '`billsync alerts costs`'],
    cure: [
      'Correct it as the alert describes; `billsync alerts costs` tests the file without sending anything.',
    ],
    proof: 'The alert clears at the next check, at most a minute after a publication.',
  },
  'claims-to-send': {
    severity: 'warning',
    meaning:
      'Open claims are near or past the end of the carrier’s claim window (`user/claim-windows.yaml`); or claims and their windows cannot be read, so that overdue claims would not be reported.',
    firstLook: ['claims and days in the alert', '`billsync disputes list --state open`'],
    cure: [
      '`billsync disputes export --carrier NAME --output FILE`; send the file, then `billsync disputes state sent ID`.',
      'What is not worth it: `billsync disputes state closed ID --note WHY`.',
      'A file that cannot be read: correct it as the alert describes, or restore it from a backup.',
    ],
    proof: 'The alert clears at the next check, at most an hour later.',
  },
  'claims-unanswered': {
    severity: 'warning',
    meaning:
      'Claims were sent and are not credited after the days that `user/claim-windows.yaml` allows for an answer.',
    firstLook: [
      'claims in the alert',
      '`billsync disputes show ID`: its history and the credits of its number',
    ],
    cure: [
      'Ask the carrier again and add a note, which restarts the days: `billsync disputes note ID --note TEXT`.',
      'What was refused: `billsync disputes state rejected ID --note WHY`.',
    ],
    proof: 'The alert clears at the next check, at most an hour later.',
  },
} as const satisfies Record<string, RunbookEntry>;
