import type { RunbookEntry } from './entry.ts';

export const SERVICE = {
  credentials: {
    severity: 'critical',
    meaning:
      'The billing service refuses our client id and secret, our API key, or a fresh token. Invoices are not processed; deliveries are still accepted.',
    firstLook: [
      '`billsync doctor` (billing service): what it answers',
      '`billsync config show`: which credentials are set, and where',
    ],
    cure: [
      'Have the secret renewed by the service and set `BILLSYNC_CLIENT_SECRET` (or `BILLSYNC_API_KEY`), then restart.',
    ],
    proof:
      '`billsync doctor` gets a token; waiting invoices continue within five minutes, or at once after `billsync invoices retry ID`.',
  },
  'service/unwell': {
    severity: 'warning',
    scope: 'process',
    meaning:
      'The billing service cannot be reached, is overloaded or answers with errors. Everything is retried for days, with growing pauses.',
    firstLook: [
      'the page `/health`: last error, last successful answer',
      '`billsync_service_calls_total` by endpoint and answer',
      '`billsync doctor` (billing service)',
    ],
    cure: [
      'If the fault is the service’s: wait, or inform them. Nothing is lost.',
      'If it is ours: check name resolution, proxy (`HTTPS_PROXY`), firewall, CA (`BILLSYNC_CA_FILE`).',
    ],
    proof:
      '`billsync doctor` reports no failure, and the page `/health` shows the component `billing service` as healthy.',
  },
  'service/details': {
    severity: 'warning',
    meaning:
      'The service refuses to return the details of invoices, or its answer is unreadable. Files are fetched another way and are loaded; a void whose event was lost is not found.',
    firstLook: ['the alert: what the service answered', '`billsync doctor` (billing service)'],
    cure: [
      'HTTP 403: have the permission to read invoices added to our credentials.',
      'A redirect or a page: correct `BILLSYNC_BASE_URL`, or inform the service.',
    ],
    proof: 'The next readable answer resolves the alert; `billsync reconcile --wait` requests one.',
  },
  gaps: {
    severity: 'warning',
    meaning: 'Invoice numbers or billing periods show that invoices are missing.',
    firstLook: ['`billsync report gaps`'],
    cure: [
      'Ask the billing service for the ids, then `billsync backfill ID --wait`.',
      'If the tenant has stopped shipping: nothing to do.',
    ],
    proof: '`billsync reconcile --wait`, then `billsync_expected_invoices_missing` is 0.',
  },
  'temporal/away': {
    severity: 'critical',
    scope: 'process',
    meaning:
      'Temporal does not answer. Deliveries are accepted and kept; nothing is downloaded, loaded or checked until Temporal is back.',
    firstLook: [
      '`billsync doctor` (Temporal)',
      'the embedded server: the log of `up`, and the process named in `DATA/run/temporal.json`',
    ],
    cure: [
      'The embedded server: `up` restarts it when its process ends; if it hangs, end the process by its pid.',
      'A cluster: bring it back, check `TEMPORAL_ADDRESS`, its certificate and API key.',
    ],
    proof:
      'The page `/health` shows the component `temporal` as healthy within 5 s of its return; `billsync_inbox_backlog` falls to 0.',
  },
  schedule: {
    severity: 'warning',
    meaning:
      'A scheduled job did not run: the reconciliation (it finds lost events, checks voids, verifies the warehouse) or a report. Totals stay right; what only the job finds is found late.',
    firstLook: [
      'the alert: which one, when, and how it ended',
      '`billsync schedule show`; the log of the role `worker` at that time',
    ],
    cure: [
      '`billsync reconcile` runs it now and reports what failed; fix that.',
      'A removed schedule of the reconciliation is made again by the worker within a minute; that of a report by `billsync report NAME --schedule`.',
    ],
    proof:
      'The alert clears within a minute of the next successful run; `billsync schedule trigger` starts one.',
  },
  'temporal/terminated': {
    severity: 'critical',
    meaning:
      'Workflows were terminated or cancelled by something other than billsync. Nothing acknowledged is lost: a reconciliation has been started, which continues all unfinished invoices from the archive.',
    firstLook: [
      'the alert: how many, and the latest workflow; its page in Temporal names the identity and the reason',
      'who can connect to Temporal’s port: `ss -ltnp`, firewall, namespace permissions',
    ],
    cure: [
      'Close the port to others, or use a namespace with its own credentials.',
      'A backfill that was terminated is started again by its command.',
    ],
    proof:
      '`billsync schedule show` names a run since then, and the invoices run again; the alert clears an hour after the last termination.',
  },
  'temporal/unencrypted': {
    severity: 'critical',
    isNotice: true,
    meaning:
      'Unencrypted data was found in Temporal and ignored. billsync encrypts everything it sends there, so someone else has access to it.',
    firstLook: ['who can connect to Temporal’s port: `ss -ltnp`, firewall, namespace permissions'],
    cure: ['Close the port to others, or use a namespace with its own credentials.'],
    proof: 'The alert is not repeated after `BILLSYNC_ALERT_QUIET_WINDOW`.',
  },
  'temporal/undecryptable': {
    severity: 'critical',
    scope: 'machine',
    isNotice: true,
    meaning:
      'Workflows cannot be decrypted with the configured encryption keys; their invoices are not processed.',
    firstLook: ['`billsync config show` (encryption keys)', 'which machine or secret changed last'],
    cure: [
      'Add the key they were written with after the new one in `BILLSYNC_ENCRYPTION_KEY`, then restart.',
    ],
    proof: '`billsync invoices list --state needs_attention` and the log mention no keys for ten minutes.',
  },
  'temporal/foreign-event': {
    severity: 'critical',
    isNotice: true,
    meaning:
      'An event reached the workflow of another invoice and was ignored: it was copied within Temporal.',
    firstLook: ['who can connect to Temporal’s port'],
    cure: ['Close the port to others.'],
    proof: 'The alert is not repeated after `BILLSYNC_ALERT_QUIET_WINDOW`.',
  },
} as const satisfies Record<string, RunbookEntry>;
