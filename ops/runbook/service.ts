/** Alerts about the billing service and about Temporal, which others run. */

import type { RunbookEntry } from './entry.js';

export const SERVICE = {
  credentials: {
    severity: 'critical',
    meaning:
      'The billing service refuses our client id and secret, our API key, or a fresh token. Invoices stand still; deliveries are still taken.',
    firstLook: [
      '`billsync doctor` (billing service): what it answers',
      '`billsync config show`: which credentials are set, and where',
    ],
    cure: [
      'Have the secret renewed by the service and set `BILLSYNC_CLIENT_SECRET` (or `BILLSYNC_API_KEY`), then restart.',
    ],
    proof:
      '`billsync doctor` gets a token; waiting invoices go on within five minutes, `billsync invoices retry ID` at once.',
  },
  'service/unwell': {
    severity: 'warning',
    meaning:
      'The billing service cannot be reached, is overloaded or answers with errors. Everything is tried again with growing pauses for days.',
    firstLook: [
      'the page `/health`: last error, last good answer',
      '`billsync_service_calls_total` by endpoint and answer',
      '`billsync doctor` (billing service)',
    ],
    cure: [
      'The service’s own fault: wait, or tell it. Nothing is lost.',
      'Ours: name resolution, proxy (`HTTPS_PROXY`), firewall, CA (`BILLSYNC_CA_FILE`).',
    ],
    proof: '`billsync doctor` is green, and the component `billing service` is well on `/health`.',
  },
  'service/details': {
    severity: 'warning',
    meaning:
      'The service refuses the details of invoices, or answers them with something that cannot be read. Files come another way and are loaded; a void whose event was lost is not found.',
    firstLook: ['the alert: what it answered', '`billsync doctor` (billing service)'],
    cure: [
      'HTTP 403: have the right to read invoices added to our credentials.',
      'A redirect or a page: correct `BILLSYNC_BASE_URL`, or tell the service.',
    ],
    proof: 'The next answer that can be read takes the alert back; `billsync reconcile --wait` asks.',
  },
  gaps: {
    severity: 'warning',
    meaning: 'Invoices that should have come by their number or billing period did not come.',
    firstLook: ['`billsync report gaps`'],
    cure: [
      'Ask the billing service for the ids, then `billsync backfill ID --wait`.',
      'A tenant that has stopped shipping: nothing to do.',
    ],
    proof: '`billsync reconcile --wait`, then `billsync_expected_invoices_missing` is 0.',
  },
  'temporal/away': {
    severity: 'critical',
    meaning:
      'Temporal does not answer. Deliveries are taken and kept; nothing is downloaded, loaded or checked until it is back.',
    firstLook: [
      '`billsync doctor` (Temporal)',
      'the embedded server: the log of `up`, and the process named in `DATA/run/temporal.json`',
    ],
    cure: [
      'The embedded server: `up` starts it again when its process ends; one that hangs is ended by its pid.',
      'A cluster: bring it back, check `TEMPORAL_ADDRESS`, its certificate and API key.',
    ],
    proof:
      'The component `temporal` is well on `/health` within 5 s of its return; `billsync_inbox_backlog` falls to 0.',
  },
  'temporal/unencrypted': {
    severity: 'critical',
    isNotice: true,
    meaning:
      'Something in clear text stood in Temporal and was not obeyed. billsync encrypts all it says there, so somebody else can reach it.',
    firstLook: ['who can connect to Temporal’s port: `ss -ltnp`, firewall, namespace permissions'],
    cure: ['Close the port to others, or use a namespace with credentials of its own.'],
    proof: 'The alert is not repeated after `BILLSYNC_ALERT_QUIET_WINDOW`.',
  },
  'temporal/undecryptable': {
    severity: 'critical',
    isNotice: true,
    meaning: 'Workflows cannot be read with the encryption keys that are set; those invoices stand still.',
    firstLook: ['`billsync config show` (encryption keys)', 'which machine or secret changed last'],
    cure: [
      'Set the key they were written with beside the new one in `BILLSYNC_ENCRYPTION_KEY`, then restart.',
    ],
    proof:
      '`billsync invoices list --state needs_attention` and the log stay silent about keys for ten minutes.',
  },
  'temporal/foreign-event': {
    severity: 'critical',
    isNotice: true,
    meaning:
      'An event reached the workflow of another invoice and was not obeyed: a copy that somebody made in Temporal.',
    firstLook: ['who can connect to Temporal’s port'],
    cure: ['Close the port to others.'],
    proof: 'The alert is not repeated after `BILLSYNC_ALERT_QUIET_WINDOW`.',
  },
} as const satisfies Record<string, RunbookEntry>;
