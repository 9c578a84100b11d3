import type { RunbookEntry } from './entry.ts';

export const RECEIVING = {
  'endpoint/unanswered': {
    severity: 'critical',
    scope: 'machine',
    meaning:
      'The endpoint does not answer its own `/healthz`. The billing service delivers an event only twice, so events are being lost.',
    firstLook: [
      '`billsync doctor` (endpoint, data folder)',
      'the last lines of the log of the role `webhook`',
    ],
    cure: [
      'Restart it. Under `up` this happens automatically within 30 s; a separate process is restarted by its supervisor.',
      'If it answers 503, see `inbox/unwritable`.',
      'Afterwards `billsync report gaps` and `billsync backfill ID` for what was announced in the meantime.',
    ],
    proof:
      '`billsync doctor` reports that the endpoint answers; `billsync sandbox test-event` or a test event of the service is answered 200.',
  },
  'endpoint/certificate': {
    severity: 'warning',
    scope: 'machine',
    meaning:
      'The certificate of the endpoint expires within two weeks. After that the billing service refuses to deliver, and events are lost.',
    firstLook: [
      '`billsync doctor` (endpoint): until when it is valid',
      'who renews it: certbot, the reverse proxy, a person',
    ],
    cure: [
      'Put the new pair at `BILLSYNC_WEBHOOK_TLS_CERT` and `BILLSYNC_WEBHOOK_TLS_KEY`; it is picked up within a second, without a restart.',
      'A self-signed certificate is replaced at a restart; have the service trust the new one.',
    ],
    proof: '`billsync_webhook_certificate_expiry_timestamp_seconds` is months ahead.',
  },
  'inbox/unwritable': {
    severity: 'critical',
    scope: 'machine',
    meaning:
      'A delivery could not be written to disk and was answered 503. The service tries each event only twice.',
    firstLook: ['`df -h` and `df -i` of the data folder', 'its owner and permissions: `ls -ld DATA/inbox`'],
    cure: [
      'Free disk space, or give the folder back to the user that billsync runs as. No restart is needed.',
    ],
    proof: '`curl -k https://HOST:8443/healthz` answers 200, and the next delivery resolves the alert.',
  },
  'inbox/left-behind': {
    severity: 'warning',
    scope: 'machine',
    meaning:
      'Acknowledged deliveries have been in the inbox for more than ten minutes. Nothing is lost; invoices are late.',
    firstLook: ['`billsync doctor` (Temporal, endpoint)', '`ls DATA/inbox/pending | wc -l`'],
    cure: [
      'Start the endpoint if it is not running; it forwards what is waiting.',
      'If Temporal is away, see `temporal/away`.',
    ],
    proof: '`billsync_inbox_backlog` is 0.',
  },
  'forwarder/backlog': {
    severity: 'warning',
    scope: 'machine',
    meaning:
      'The endpoint cannot pass deliveries on to Temporal. They are on disk and are retried until they succeed.',
    firstLook: ['`billsync doctor` (Temporal)', '`billsync_inbox_backlog_age_seconds`: for how long'],
    cure: ['Bring Temporal back (`temporal/away`), or correct `TEMPORAL_ADDRESS` and its credentials.'],
    proof: '`billsync_inbox_backlog` falls to 0 within a minute.',
  },
  'forwarder/partner-unknown': {
    severity: 'warning',
    meaning:
      'No token has been obtained since the start, so deliveries are forwarded without checking that they are for our account.',
    firstLook: ['`billsync doctor` (billing service)'],
    cure: [
      'Set `BILLSYNC_PARTNER_ID`, or fix what prevents us from getting a token (`credentials`, `service/unwell`).',
    ],
    proof: 'The first token resolves the alert.',
  },
  'webhook/refused': {
    severity: 'critical',
    scope: 'machine',
    isNotice: true,
    meaning:
      'A delivery with valid credentials was refused before its body was understood: its path, its method, a Content-Encoding, its size or its speed. The billing service delivers an event only twice, so the event may be lost.',
    firstLook: [
      'method, path and status in the alert and in the log of the role `webhook`',
      'the proxy before the endpoint: does it change path, method or body?',
    ],
    cure: [
      'Correct the address that is registered at the service, or the proxy; or set `BILLSYNC_WEBHOOK_PATH`.',
      'Afterwards `billsync reconcile`, and `billsync backfill ID` for what was announced in the meantime.',
    ],
    proof: 'A test event of the service is answered 200 and shows in `billsync events list`.',
  },
  'webhook/wrong-credentials': {
    severity: 'critical',
    meaning:
      'Deliveries with wrong credentials were refused with 401. If the billing service sent them, its events are being lost.',
    firstLook: [
      'the address in the alert: is it the service’s?',
      '`billsync_deliveries_total{status="unauthorized"}` and since when it has been rising',
    ],
    cure: [
      'Set the same user and password on both sides: the webhook’s Authorization header and `BILLSYNC_WEBHOOK_BASIC_AUTH` (two values during a rotation).',
      'If the address is unknown: nothing to do; block it at the firewall if it continues.',
    ],
    proof: 'The next delivery from that address is answered 200, which resolves the alert.',
  },
  'webhook/connections': {
    severity: 'warning',
    scope: 'machine',
    isNotice: true,
    meaning:
      'The endpoint has reached its limit of connections; those that never sent credentials are closed. Known senders keep their share.',
    firstLook: ['the address in the alert', '`billsync_webhook_connections_ended_total` by reason'],
    cure: [
      'Behind a proxy, set `BILLSYNC_WEBHOOK_TRUSTED_PROXIES`; otherwise all senders count as one.',
      'If it is an attack: block the address; the service’s deliveries are still accepted.',
    ],
    proof: '`rate(billsync_webhook_connections_ended_total[5m])` is 0.',
  },
  'delivery-contradicts-itself': {
    severity: 'warning',
    isNotice: true,
    meaning:
      'A delivery has two values for one field. It was kept and neither value is used; the details are requested from the service.',
    firstLook: ['`billsync events show ID`: all values', '`billsync invoices show ID`'],
    cure: ['Inform the billing service: one of the two values is wrong.'],
    proof: '`billsync invoices show ID` shows loaded, with the total that the service confirms.',
  },
  quarantine: {
    severity: 'warning',
    each: 'reason',
    scope: 'machine',
    isNotice: true,
    meaning:
      'A delivery was refused for this reason and is kept in full: an unknown event type, version or partner, or an unreadable body.',
    firstLook: ['`billsync quarantine list`', '`billsync quarantine show ID`'],
    cure: [
      '`unknown-event-type`, `unknown-schema-version`: upgrade billsync, then `billsync quarantine requeue ID`.',
      '`foreign-partner`: the service delivers another account’s events to us; inform the service, then `billsync quarantine discard ID`.',
      'If the body is unreadable: ask the service for the event again, or `billsync backfill INVOICE`.',
    ],
    proof: '`billsync quarantine list` is empty.',
  },
  'quarantine/flood': {
    severity: 'warning',
    scope: 'machine',
    isNotice: true,
    meaning:
      'A sender with the endpoint’s password sends more unusable deliveries than are kept per day. Usable deliveries are kept as always.',
    firstLook: [
      '`billsync quarantine list`: the first of the day',
      'the log of the endpoint: what is refused, and why',
    ],
    cure: [
      'Inform the service when it is the cause. Otherwise change the password: `BILLSYNC_WEBHOOK_BASIC_AUTH` takes the old and the new one meanwhile.',
    ],
    proof: '`billsync_quarantined_total` no longer rises.',
  },
  'quarantine/old': {
    severity: 'warning',
    scope: 'machine',
    meaning: 'Refused deliveries or files have been waiting for a decision for more than a day.',
    firstLook: ['`billsync quarantine list`'],
    cure: [
      '`billsync quarantine requeue ID`, `billsync invoices retry ID` or `billsync quarantine discard ID` for each.',
    ],
    proof: 'The alert is resolved within a minute.',
  },
} as const satisfies Record<string, RunbookEntry>;
