import type { RunbookEntry } from './entry.ts';

export const MACHINE = {
  warehouse: {
    severity: 'critical',
    scope: 'process',
    meaning:
      'The warehouse’s file is damaged or unusable. The worker rebuilds it from the archive; readers keep the published copy.',
    firstLook: ['the log of the role `worker`', '`df -h`, and `dmesg | tail` for disk errors'],
    cure: [
      'Wait for the rebuild; large archives take minutes.',
      'If the alert names losses: restore the archive from its backup, then stop the worker, run `billsync rebuild`, start the worker.',
      'If the rebuild cannot start: `billsync rebuild --dry-run` shows why.',
    ],
    proof: '`billsync verify` ends with 0.',
  },
  duckdb: {
    severity: 'critical',
    scope: 'machine',
    isNotice: true,
    meaning:
      'A call of DuckDB did not return within its limit. The worker ended itself; its supervisor starts it again, and what was at work is repeated.',
    firstLook: ['the log of the role `worker`: the statement that did not return'],
    cure: [
      'Nothing, when it happened once: nothing is lost.',
      'If it happens again: report the statement and the version (`billsync --version`).',
    ],
    proof: 'The page `/health` of the worker that was started again shows all components as healthy.',
  },
  clock: {
    severity: 'critical',
    scope: 'machine',
    meaning:
      'The clock of this machine differs by more than 30 s from that of the billing service or of the archive’s S3. Deadlines and expiry times are judged wrongly; with more than 5 min no worker or endpoint starts.',
    firstLook: ['the alert: which server, by how much', '`timedatectl`, `billsync doctor` (clock)'],
    cure: [
      'Set the clock and keep it synchronized (NTP).',
      'If this machine’s clock is right: the server’s is wrong; inform its operators.',
    ],
    proof: 'The page `/health` shows the component `clock` as healthy within a minute; no restart is needed.',
  },
  'lake/blocked': {
    severity: 'critical',
    scope: 'process',
    meaning:
      'This worker waits for a lock in PostgreSQL that another process holds; nothing that needs it is loaded meanwhile.',
    firstLook: [
      'the alert: role, host and process id of the holder',
      'on that host: whether the process runs or is frozen (`ps -o stat,wchan -p PID`)',
    ],
    cure: [
      'Wait a minute: PostgreSQL ends the connection of a process that is frozen or whose machine is gone, and its locks with it.',
      'If it lasts: end the holder, or `select pg_terminate_backend(PID)` with the process of PostgreSQL that the alert names.',
    ],
    proof: 'The page `/health` shows the component `lake locks` as healthy.',
  },
  'warehouse/losses': {
    severity: 'critical',
    isNotice: true,
    meaning:
      'The warehouse was rebuilt, but the archive no longer held everything that was in it: invoices are missing from the totals.',
    firstLook: [
      'the alert: how many losses, and the first of them',
      'the log of the role `worker`: each of them',
    ],
    cure: [
      'Restore the archive from its backup, then stop the worker, run `billsync rebuild`, start the worker.',
      'For an invoice whose id is known: `billsync backfill ID --wait`.',
    ],
    proof: '`billsync verify` ends with 0, and `billsync report gaps` names none of them.',
  },
  ingest: {
    severity: 'critical',
    scope: 'process',
    meaning: 'What was received does not reach the warehouse. Deliveries are kept; totals are not updated.',
    firstLook: ['the log of the role `worker`: what failed', '`billsync verify`: records that are set aside'],
    cure: ['Fix what is named (disk, permissions, a lake’s PostgreSQL). The work resumes automatically.'],
    proof: 'The page `/health` shows the component `ingest` as healthy.',
  },
  archive: {
    severity: 'critical',
    scope: 'process',
    meaning:
      'The archive’s folder is empty or gone (a volume that is not mounted), or its bucket does not answer. Deliveries are kept in the inbox and wait; nothing is loaded.',
    firstLook: [
      '`findmnt` and `ls -l` of the folder in `BILLSYNC_ARCHIVE` (default: `DATA/archive`)',
      'for a bucket: `billsync doctor` names what it answers',
    ],
    cure: [
      'Mount the volume again, or bring the bucket back. No restart is needed; what waited is archived within minutes.',
      'A start before the volume is mounted is refused: an empty archive would begin below it. In a systemd unit, `RequiresMountsFor=` waits for the volume.',
    ],
    proof:
      'The page `/health` shows the component `archive` as healthy, and `billsync_inbox_backlog` falls to 0.',
  },
  publication: {
    severity: 'critical',
    scope: 'process',
    meaning: 'Nothing new is published; readers keep the previous publication.',
    firstLook: [
      '`df -h` of the data folder',
      '`ls -l DATA/reports.duckdb`: owner and permissions',
      'the log of the role `worker`',
    ],
    cure: [
      'Free disk space, or give the file back to billsync’s user. Anything at that path that is not a file is moved aside.',
    ],
    proof: '`billsync snapshot` ends with 0, and `billsync_publication_pending_seconds` falls to 0.',
  },
  drift: {
    severity: 'critical',
    meaning: 'The warehouse differs from the archive, which is the truth: a figure may be wrong.',
    firstLook: ['`billsync verify`: which invoices, which rule'],
    cure: [
      'If the warehouse is wrong: stop the worker, run `billsync rebuild`, start the worker.',
      'If files or facts are missing in the archive: restore them from the backup, then stop the worker, run `billsync rebuild`, start the worker.',
    ],
    proof: '`billsync verify` ends with 0.',
  },
  'set-aside': {
    severity: 'warning',
    each: 'place',
    isNotice: true,
    meaning:
      'A record of the archive could not be read into the warehouse and was left out; all others were read.',
    firstLook: ['`billsync verify`: `record-set-aside` with path and reason'],
    cure: [
      'Repair the record or restore it from the backup, then stop the worker, run `billsync rebuild`, start the worker.',
    ],
    proof: '`billsync verify` lists no `record-set-aside`.',
  },
  disk: {
    severity: 'critical',
    scope: 'machine',
    isNotice: true,
    meaning:
      'The disk did not store what was written to it (fsync failed). The process ends and is started anew; nothing that was acknowledged is affected.',
    firstLook: ['`dmesg | tail`', '`df -h`', 'the storage’s own health'],
    cure: [
      'Replace the disk or volume; restore `archive/` and `keys/` if it lost data, then stop the worker, run `billsync rebuild`, start the worker.',
    ],
    proof: '`billsync verify` ends with 0 on the new disk.',
  },
  'disk/full': {
    severity: 'critical',
    scope: 'machine',
    meaning:
      'Less than 64 MiB is free, so nothing is downloaded; below 32 MiB nothing is loaded. Deliveries are still stored while they fit.',
    firstLook: ['`df -h` and `du -xh DATA | sort -h | tail`'],
    cure: ['Free disk space or enlarge the volume. Never delete anything in `archive/` or `inbox/`.'],
    proof: '`billsync_disk_free_bytes` is above 1 GiB; work resumes within a minute.',
  },
  'disk/no-room': {
    severity: 'critical',
    scope: 'machine',
    meaning: 'A file of an invoice does not fit on the disk; that invoice waits.',
    firstLook: ['`df -h` of the data folder'],
    cure: ['Free disk space; the work resumes automatically.'],
    proof: 'The next file that fits resolves the alert.',
  },
  expiry: {
    severity: 'warning',
    each: 'setting',
    meaning:
      'A certificate or credential expires within two weeks, has expired, is not valid yet, or does not fit its key. Then the billing service cannot reach us, or we cannot reach it or Temporal. Beside a new certificate that does not fit its key, the endpoint goes on with the old pair until that expires.',
    firstLook: ['the alert: which setting, and why or when', '`billsync doctor`'],
    cure: [
      'Renew it and put the new one in the same place. The endpoint picks up a renewed certificate without a restart; for anything else, restart.',
    ],
    proof: 'The page `/health` shows until when the new one is valid; the alert is resolved within a minute.',
  },
  process: {
    severity: 'critical',
    each: 'role',
    scope: 'machine',
    meaning: 'A process of `up` ended, or was killed because it did not respond, and is restarted.',
    firstLook: [
      'the log just before: memory, a full disk, a port in use',
      '`billsync_process_restarts_total`',
      '`dmesg` for the kernel’s out-of-memory killer',
    ],
    cure: [
      'If it happened once: nothing to do; no acknowledged event is lost.',
      'If it keeps happening (`/readyz` then answers 503, or does not answer): fix what the log names; if memory ran out, set `BILLSYNC_WAREHOUSE_MEMORY_LIMIT`.',
    ],
    proof: '`billsync_process_restarts_total` no longer rises and `/readyz` answers 200.',
  },
  down: {
    severity: 'critical',
    scope: 'machine',
    meaning:
      'Prometheus gets no answer from the admin port: billsync is not running or cannot be reached. If the endpoint is down, events are being lost.',
    firstLook: [
      'whether it is running: its supervisor’s status, `billsync doctor`',
      'whether the admin port listens where Prometheus asks (`BILLSYNC_ADMIN_HOST`, `BILLSYNC_ADMIN_PORT`)',
    ],
    cure: ['Start it. It resumes its work; afterwards check `billsync report gaps`.'],
    proof: '`/livez` answers 200 and `up{job="billsync"}` is 1.',
  },
  component: {
    severity: 'critical',
    each: 'component',
    scope: 'process',
    meaning:
      'A component has been unhealthy for two minutes. Most components have their own alert with details.',
    firstLook: ['the page `/health`: which component, since when, why', '`billsync alerts list`'],
    cure: ['Follow the alert of that component; `billsync doctor` tests each connection.'],
    proof: '`/readyz` answers 200 and `billsync_component_up` is 1 for all.',
  },
  'dashboard/wrong-credentials': {
    severity: 'warning',
    meaning:
      'Wrong passwords for the dashboard were refused: a person forgot it, a monitor uses an old one, or someone is guessing.',
    firstLook: [
      'the address in the alert: is it a colleague or a monitor?',
      '`billsync audit list`: was anything done?',
    ],
    cure: [
      'Give the right password to those who need it (`BILLSYNC_ADMIN_BASIC_AUTH`, `BILLSYNC_OPERATOR_BASIC_AUTH`).',
      'If the address is unknown: close the port to it, and change both passwords.',
    ],
    proof: 'The next correct password from that address resolves the alert.',
  },
} as const satisfies Record<string, RunbookEntry>;
