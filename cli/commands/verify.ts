import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { Settings } from '../../lib/config/settings.ts';
import { leftWal } from '../../lib/files/damaged-database.ts';
import type { Verification } from '../../lib/warehouse-requests.ts';
import { warehousePaths } from '../../warehouse/data-folder.ts';
import { CliError, EXIT } from '../errors.ts';
import { counted, type Output } from '../terminal/output.ts';
import { type Run, verb } from '../verb.ts';
import { requireRecordsIn, withWriter } from '../writer.ts';

interface Flags {
  readonly quick?: boolean;
  readonly archive?: string;
}

export function command(): Command {
  return verb(
    'verify',
    "Checks every loaded invoice's rows, sum, hash, currency and id against its archived file. Exit 1 if they differ.",
    'billsync verify --json',
  )
    .option('--quick', 'read only files that were not read before')
    .addOption(
      new Option('--archive <folder>', 'check a separate copy of the archive, such as a backup').conflicts(
        'quick',
      ),
    )
    .json()
    .run(async ({ settings, output, flags }: Run<Flags>) => {
      if (flags.archive !== undefined) return verifyCopy(flags.archive, output);
      const full = flags.quick !== true;
      const progress = output.progress('Proving');
      const onProgress = (done: number, of: number) => progress.update(done, of, 'invoices');
      const found = await withWriter(settings, {
        role: 'verify',
        async request(client) {
          const { requestVerify } = await import('../../workflows/client/writer-client.ts');
          return requestVerify(client, settings, { full }, onProgress);
        },
        direct: (warehouse) => warehouse.verify({ full, onProgress }),
      }).finally(() => progress.end());
      const all = await withLeftWal(found, settings);
      if (all.invoices === 0 && all.drift.length === 0) await requireArchived(settings);
      if (output.form === 'table') printTable(all, output);
      else output.thing(asJson(all), () => '');
      if (all.drift.length > 0) process.exitCode = EXIT.checkFailed;
    });
}

/** The proof covers the warehouse; a write-ahead log beside its published copy would show readers other rows. */
async function withLeftWal(found: Verification, settings: Settings): Promise<Verification> {
  const path = await leftWal(warehousePaths(settings).published);
  if (path === null) return found;
  const left = { invoiceId: '', rule: 'wal-beside-published-file', expected: 'no such file', found: path };
  const { driftInAll = found.drift.length } = found;
  return { ...found, drift: [left, ...found.drift], driftInAll: driftInAll + 1 };
}

async function requireArchived(settings: Settings): Promise<void> {
  const { withArchive } = await import('../with-temporal.ts');
  await withArchive(settings, (archive) => requireRecordsIn(archive, settings));
}

function printTable(found: Verification, output: Output): void {
  const { invoices, shipments, filesRead, purged = 0, drift, discrepancies } = found;
  const { driftInAll = drift.length } = found;
  output.rows(drift, [
    { title: 'invoice', value: ({ invoiceId }) => invoiceId },
    { title: 'rule', value: ({ rule }) => rule },
    { title: 'expected', value: ({ expected }) => expected, align: 'right' },
    { title: 'found', value: ({ found: there }) => there, align: 'right' },
  ]);
  output.note(
    `${counted(invoices, 'invoice')}, ${counted(shipments, 'shipment')}, ${counted(filesRead, 'file')} read: ` +
      `${driftInAll === 0 ? 'no drift' : counted(driftInAll, 'difference')}, ${counted(discrepancies, 'recorded discrepancy', 'recorded discrepancies')}.`,
  );
  if (purged > 0) {
    output.note(
      `The files of ${counted(purged, 'load')} were purged: their rows were compared with the recorded count, sum, ` +
        'currency and period, not cell by cell. `billsync rebuild` leaves them out.',
    );
  }
  if (driftInAll > drift.length) {
    output.note(`Only the first ${drift.length} are listed; stop the worker to list all.`);
  }
  if (drift.some(({ rule }) => rule === 'hash' || rule === 'file-missing')) {
    output.note('  → `billsync import FILE` restores a file that the archive lost or that is damaged');
  }
}

function asJson({ invoices, shipments, filesRead, purged = 0, discrepancies, drift }: Verification) {
  return {
    ...{ invoices, shipments, files_read: filesRead, purged, discrepancies },
    drift: drift.map(({ invoiceId, rule, expected, found }) => ({
      ...{ invoice_id: invoiceId, rule, expected, found },
    })),
  };
}

async function verifyCopy(folder: string, output: Output): Promise<void> {
  if (!existsSync(join(folder, 'events'))) {
    throw new CliError(EXIT.nothingMatched, 'this is not a copy of an archive', {
      subject: folder,
      hint: "name the archive's folder, which has events/, files/ and facts/",
    });
  }
  const { openFolderArchive } = await import('../../archive/folder-archive.ts');
  const { verifyArchive } = await import('../../archive/verify-archive.ts');
  const archive = await openFolderArchive(folder);
  const { files, events, facts, purged, faults } = await verifyArchive(archive).finally(() =>
    archive.close(),
  );
  if (output.form === 'table') {
    output.rows(faults, [
      { title: 'invoice', value: ({ invoiceId }) => invoiceId },
      { title: 'rule', value: ({ rule }) => rule },
      { title: 'expected', value: ({ expected }) => expected },
      { title: 'found', value: ({ found }) => found, canShrink: true },
    ]);
    output.note(
      `${files} files, ${events} events, ${facts} facts${purged === 0 ? '' : `, ${purged} files purged`}: ${faults.length === 0 ? 'no faults' : `${faults.length} faults`}.`,
    );
  } else {
    const drift = faults.map(({ invoiceId, ...fault }) => ({ invoice_id: invoiceId, ...fault }));
    output.thing({ files, events, facts, purged, drift }, () => '');
  }
  if (faults.length > 0) process.exitCode = EXIT.checkFailed;
}
