/** Alerts of the way from the billing service's delivery to Temporal. */

import type { RunbookEntry } from './entry.js';

export const RECEIVING = {
  'endpoint/unanswered': {
    severity: 'critical',
    meaning:
      'The endpoint does not answer its own `/healthz`. The billing service delivers an event only twice, so events are being lost.',
    firstLook: [
      '`billsync doctor` (endpoint, data folder)',
      'the log of the role `webhook`: what it said last',
    ],
    cure: [
      'Restart it: `up` does so by itself within 30 s; a role of its own is restarted by its supervisor.',
      'If it answers 503, see `inbox/unwritable`.',
      'Afterwards `billsync report gaps` and `billsync backfill ID` for what was announced meanwhile.',
    ],
    proof:
      '`billsync doctor` says that the endpoint answers; `billsync sandbox test-event` or a test event of the service is answered 200.',
  },
  'endpoint/certificate': {
    severity: 'warning',
    meaning:
      'The certificate of the endpoint ends within two weeks. After that the billing service refuses to deliver, and events are lost.',
    firstLook: [
      '`billsync doctor` (endpoint): until when it is valid',
      'who renews it: certbot, the reverse proxy, a person',
    ],
    cure: [
      'Put the new pair at `BILLSYNC_WEBHOOK_TLS_CERT` and `BILLSYNC_WEBHOOK_TLS_KEY`; it is taken up within a second, without a restart.',
      'The self-signed one is made anew by a restart; have the service trust it.',
    ],
    proof: '`billsync_webhook_certificate_expiry_timestamp_seconds` lies months ahead.',
  },
  'inbox/unwritable': {
    severity: 'critical',
    meaning:
      'A delivery could not be written to disk and was answered 503. The service tries each event only twice.',
    firstLook: ['`df -h` and `df -i` of the data folder', 'its owner and rights: `ls -ld DATA/inbox`'],
    cure: ['Make room, or give the folder back to the user that billsync runs as. No restart is needed.'],
    proof: '`curl -k https://HOST:8443/healthz` answers 200, and the next delivery takes the alert back.',
  },
  'inbox/left-behind': {
    severity: 'warning',
    meaning:
      'Deliveries that were acknowledged have waited for more than ten minutes in the inbox. Nothing is lost; invoices come late.',
    firstLook: ['`billsync doctor` (Temporal, endpoint)', '`ls DATA/inbox/pending | wc -l`'],
    cure: [
      'Start the endpoint again if it does not run; it takes up what waits.',
      'If Temporal is away, see `temporal/away`.',
    ],
    proof: '`billsync_inbox_backlog` is 0.',
  },
  'forwarder/backlog': {
    severity: 'warning',
    meaning:
      'The endpoint cannot give deliveries to Temporal. They are on disk and are tried again for ever.',
    firstLook: ['`billsync doctor` (Temporal)', '`billsync_inbox_backlog_age_seconds` since when'],
    cure: ['Bring Temporal back (`temporal/away`), or correct `TEMPORAL_ADDRESS` and its credentials.'],
    proof: '`billsync_inbox_backlog` falls to 0 within a minute.',
  },
  'forwarder/partner-unknown': {
    severity: 'warning',
    meaning:
      'No token could be had since the start, so deliveries go on without the check whether they are for our account.',
    firstLook: ['`billsync doctor` (billing service)'],
    cure: [
      'Set `BILLSYNC_PARTNER_ID`, or mend what keeps us from a token (`credentials`, `service/unwell`).',
    ],
    proof: 'The alert is taken back with the first token.',
  },
  'webhook/wrong-credentials': {
    severity: 'critical',
    meaning:
      'Deliveries with wrong credentials were refused with 401. If the billing service sent them, its events are being lost.',
    firstLook: [
      'the address in the alert: is it the service’s?',
      '`billsync_deliveries_total{status="unauthorized"}` and since when it grows',
    ],
    cure: [
      'Set the same user and password on both sides: the webhook’s Authorization header and `BILLSYNC_WEBHOOK_BASIC_AUTH` (two values during a rotation).',
      'A stranger’s address: nothing to do; block it at the firewall if it goes on.',
    ],
    proof: 'The next delivery from that address is answered 200, which takes the alert back.',
  },
  'webhook/connections': {
    severity: 'warning',
    isNotice: true,
    meaning:
      'More connections are open than the endpoint may have; those that never showed credentials are ended. Known senders keep their share.',
    firstLook: ['the address in the alert', '`billsync_webhook_connections_ended_total` by reason'],
    cure: [
      'Behind a proxy set `BILLSYNC_WEBHOOK_TRUSTED_PROXIES`, else all senders count as one.',
      'An attack: block the address; the service’s deliveries go on meanwhile.',
    ],
    proof: '`rate(billsync_webhook_connections_ended_total[5m])` is 0.',
  },
  'delivery-contradicts-itself': {
    severity: 'warning',
    isNotice: true,
    meaning:
      'A delivery has two values for one field. It was kept and neither value is used; the service is asked for what is missing.',
    firstLook: ['`billsync events show ID`: all values', '`billsync invoices show ID`'],
    cure: ['Tell the billing service: what it says twice today it may say wrongly tomorrow.'],
    proof: '`billsync invoices show ID` says loaded, with the total that the service means.',
  },
  quarantine: {
    severity: 'warning',
    each: 'reason',
    isNotice: true,
    meaning:
      'A delivery was refused for this reason and is kept whole: an event type, version or partner that is not known, or a body that cannot be read.',
    firstLook: ['`billsync quarantine list`', '`billsync quarantine show ID`'],
    cure: [
      '`unknown-event-type`, `unknown-schema-version`: upgrade billsync, then `billsync quarantine requeue ID`.',
      '`foreign-partner`: the service delivers another account’s events to us; tell it, then `billsync quarantine discard ID`.',
      'A body that cannot be read: ask the service for the event again, or `billsync backfill INVOICE`.',
    ],
    proof: '`billsync quarantine list` is empty.',
  },
  'quarantine/old': {
    severity: 'warning',
    meaning: 'Refused deliveries or files have waited for more than a day for somebody to decide.',
    firstLook: ['`billsync quarantine list`'],
    cure: [
      '`billsync quarantine requeue ID`, `billsync invoices retry ID` or `billsync quarantine discard ID` for each.',
    ],
    proof: '`billsync reconcile --wait` takes the alert back.',
  },
} as const satisfies Record<string, RunbookEntry>;
