/** Alerts about the warehouse, the disk and the processes: what we run ourselves. */

import type { RunbookEntry } from './entry.js';

export const MACHINE = {
  warehouse: {
    severity: 'critical',
    meaning:
      'The warehouse’s file is damaged or cannot go on. The worker makes it again from the archive; readers keep the published copy.',
    firstLook: ['the log of the role `worker`', '`df -h`, `dmesg | tail` for errors of the disk'],
    cure: [
      'Wait while it is made again; large archives take minutes.',
      'Losses are named: put the archive back from its backup, then `billsync rebuild`.',
      'It cannot start: `billsync rebuild --dry-run` says why.',
    ],
    proof: '`billsync verify` ends with 0.',
  },
  'warehouse/losses': {
    severity: 'critical',
    isNotice: true,
    meaning:
      'The warehouse was made again, and the archive could not give all that was in it: invoices are missing from the figures.',
    firstLook: ['the alert: how many losses, and the first', 'the log of the role `worker`: each of them'],
    cure: [
      'Put the archive back from its backup, then `billsync rebuild`.',
      'An invoice whose id is known: `billsync backfill ID --wait`.',
    ],
    proof: '`billsync verify` ends with 0, and `billsync report gaps` names none of them.',
  },
  ingest: {
    severity: 'critical',
    meaning: 'What was received does not reach the warehouse. Deliveries are kept; figures grow old.',
    firstLook: [
      'the log of the role `worker`: what it stumbled over',
      '`billsync verify`: records that are set aside',
    ],
    cure: ['Mend what is named (disk, rights, a lake’s PostgreSQL). It goes on by itself.'],
    proof: 'The component `ingest` is well on `/health`.',
  },
  publication: {
    severity: 'critical',
    meaning: 'Nothing new is published; readers keep the previous figures.',
    firstLook: [
      '`df -h` of the data folder',
      '`ls -l DATA/reports.duckdb`: owner and rights',
      'the log of the role `worker`',
    ],
    cure: [
      'Make room or give the file back to billsync’s user; what lies at its place and is no file is moved away.',
    ],
    proof: '`billsync snapshot` ends with 0, and `billsync_publication_pending_seconds` falls to 0.',
  },
  drift: {
    severity: 'critical',
    meaning: 'The warehouse differs from the archive, which is the truth: a figure may be wrong.',
    firstLook: ['`billsync verify`: which invoices, which rule'],
    cure: [
      'Differences of the warehouse: stop the worker, `billsync rebuild`, start it.',
      'Files or facts that are missing in the archive: put them back from the backup, then `billsync rebuild`.',
    ],
    proof: '`billsync verify` ends with 0.',
  },
  'set-aside': {
    severity: 'warning',
    each: 'place',
    isNotice: true,
    meaning: 'A record of the archive could not be taken in and was left out; all others were taken.',
    firstLook: ['`billsync verify`: `record-set-aside` with place and reason'],
    cure: ['Repair the record or put it back from the backup, then `billsync rebuild`.'],
    proof: '`billsync verify` lists no `record-set-aside`.',
  },
  disk: {
    severity: 'critical',
    isNotice: true,
    meaning:
      'The disk did not keep what it was given (fsync failed). The process ends and starts clean; nothing that was acknowledged depends on it.',
    firstLook: ['`dmesg | tail`', '`df -h`', 'the storage’s own health'],
    cure: [
      'Replace the disk or volume; restore `archive/` and `keys/` if it lost data, then `billsync rebuild`.',
    ],
    proof: '`billsync verify` ends with 0 on the new disk.',
  },
  'disk/full': {
    severity: 'critical',
    meaning:
      'Less than 64 MiB are free: nothing is downloaded; below 32 MiB nothing is loaded. Deliveries are kept to the last byte.',
    firstLook: ['`df -h` and `du -xh DATA | sort -h | tail`'],
    cure: ['Make room or enlarge the volume. Never delete below `archive/` or `inbox/`.'],
    proof: '`billsync_disk_free_bytes` is above 1 GiB; work goes on by itself within a minute.',
  },
  'disk/no-room': {
    severity: 'critical',
    meaning: 'A file of an invoice does not fit on the disk; that invoice waits.',
    firstLook: ['`df -h` of the data folder'],
    cure: ['Make room; it goes on by itself.'],
    proof: 'The next file that fits takes the alert back.',
  },
  expiry: {
    severity: 'warning',
    each: 'setting',
    meaning:
      'A certificate or a credential runs out within a fortnight, or has. Afterwards the billing service cannot reach us, or we cannot reach it or Temporal.',
    firstLook: ['the alert: which setting, until when', '`billsync doctor`'],
    cure: [
      'Renew it and put the new one into the same place. The endpoint takes a renewed certificate by itself; for the others restart.',
    ],
    proof:
      'The page `/health` says until when the new one is good; the alert is taken back within ten minutes.',
  },
  process: {
    severity: 'critical',
    each: 'role',
    meaning: 'A process of `up` ended or stands still (`-silent`), and is started again.',
    firstLook: [
      'the log just before: memory, a full disk, a port that is taken',
      '`billsync_process_restarts_total`',
      '`dmesg` for the kernel’s out-of-memory killer',
    ],
    cure: [
      'Once: nothing to do, no acknowledged event is lost.',
      'Again and again: mend what the log names; for memory set `BILLSYNC_WAREHOUSE_MEMORY_LIMIT`.',
    ],
    proof: '`billsync_process_restarts_total` stands still and `/readyz` answers 200.',
  },
  down: {
    severity: 'critical',
    meaning:
      'Prometheus gets no answer from the admin port: billsync does not run, or it cannot be reached. Without the endpoint events are being lost.',
    firstLook: [
      'whether it runs: its supervisor’s status, `billsync doctor`',
      'whether the admin port listens where Prometheus asks (`BILLSYNC_ADMIN_HOST`, `BILLSYNC_ADMIN_PORT`)',
    ],
    cure: ['Start it. It takes up what it left; afterwards `billsync report gaps`.'],
    proof: '`/livez` answers 200 and `up{job="billsync"}` is 1.',
  },
  component: {
    severity: 'critical',
    each: 'component',
    meaning: 'A component has not been well for two minutes. Most have an alert of their own that says more.',
    firstLook: ['the page `/health`: which, since when, why', '`billsync alerts list`'],
    cure: ['As the alert of that component says; `billsync doctor` tries each connection for real.'],
    proof: '`/readyz` answers 200 and `billsync_component_up` is 1 for all.',
  },
  'dashboard/wrong-credentials': {
    severity: 'warning',
    meaning:
      'Wrong passwords for the dashboard were refused: somebody has forgotten it, a monitor holds an old one, or somebody guesses.',
    firstLook: [
      'the address in the alert: is it a colleague or a monitor?',
      '`billsync audit list`: was anything done?',
    ],
    cure: [
      'Give the right password to who needs it (`BILLSYNC_ADMIN_BASIC_AUTH`, `BILLSYNC_OPERATOR_BASIC_AUTH`).',
      'A stranger’s address: close the port to it, and change both passwords.',
    ],
    proof: 'The next right password from that address takes the alert back.',
  },
} as const satisfies Record<string, RunbookEntry>;
