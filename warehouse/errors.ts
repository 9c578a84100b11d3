/** What can be wrong with the warehouse itself; what is wrong with a file is a value, not an error. */

import { BillsyncError, EXIT } from '../lib/wire/errors.ts';
import type { RebuildOutcome } from './warehouse.ts';

/** Base of everything the warehouse throws. */
export abstract class WarehouseError extends BillsyncError {}

/** Another process holds the warehouse. */
export class WarehouseLockedError extends WarehouseError {
  readonly code = 'warehouse-locked';
  override readonly exitCode = EXIT.locked;
  /** null when only DuckDB's own lock revealed it, which names no process. */
  readonly owner: { readonly pid: number; readonly role: string } | null;

  /** @param who when there is more to say of the owner than that it is another process */
  constructor(
    path: string,
    owner: { readonly pid: number; readonly role: string } | null,
    who = owner === null ? 'another process' : `process ${owner.pid} (${owner.role})`,
  ) {
    super(`The warehouse ${path} is in use by ${who}. Stop it first.`);
    this.owner = owner;
  }
}

/** The data folder or the lake belongs to the other environment; test and production never mix. */
export class EnvironmentMismatchError extends WarehouseError {
  readonly code = 'environment-mismatch';
  override readonly exitCode = EXIT.usage;

  constructor(
    place: string,
    names: { readonly wanted: string; readonly found: string },
    kind: 'data folder' | 'lake' = 'data folder',
  ) {
    const remedy =
      kind === 'lake'
        ? `Name another catalogue in BILLSYNC_WAREHOUSE, or set BILLSYNC_ENVIRONMENT=${names.found}.`
        : 'Choose another BILLSYNC_DATA_DIR.';
    super(
      `The ${kind} ${place} belongs to the ${names.found} environment, this is ${names.wanted}. ${remedy}`,
    );
  }
}

/** DuckDB cannot read or go on with the file. The published copy is untouched; `rebuild` makes the warehouse again. */
export class WarehouseCorruptError extends WarehouseError {
  readonly code = 'warehouse-corrupt';
  override readonly exitCode = EXIT.checkFailed;
  override readonly hint =
    '`billsync rebuild` makes it again from the archive; the damaged file is kept beside it';

  constructor(path: string, cause: unknown) {
    const detail = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    super(`The warehouse ${path} is damaged (${detail}).`, { cause });
  }
}

/** A void was archived and the totals still count the invoice. */
export class VoidNotSeenError extends WarehouseError {
  readonly code = 'void-not-seen';
  override readonly exitCode = EXIT.checkFailed;
  override readonly hint =
    'it is tried again; `billsync verify --full` compares the archive with the ledgers';

  constructor(invoiceId: string) {
    super(`The void of invoice ${invoiceId} is in the archive, and totals still count the invoice.`);
  }
}

/** The archive cannot make all of the warehouse again: nothing was replaced. */
export class RebuildLossError extends WarehouseError {
  readonly code = 'rebuild-loses';
  override readonly exitCode = EXIT.checkFailed;
  override readonly hint =
    'put the archive back from its backup (or point BILLSYNC_ARCHIVE at it); `billsync rebuild --accept-loss` goes on without it';
  /** What would be there, and what would be lost. */
  readonly made: RebuildOutcome;

  constructor(path: string, made: RebuildOutcome) {
    super(
      `The archive cannot recreate all of ${path}. The warehouse and the published copy stay as they are.`,
    );
    this.made = made;
  }
}

/** Made by a newer billsync than this one. */
export class WarehouseTooNewError extends WarehouseError {
  readonly code = 'warehouse-too-new';
  override readonly exitCode = EXIT.usage;

  constructor(path: string, versions: { readonly found: number; readonly known: number }) {
    super(
      `The warehouse ${path} has schema ${versions.found}, this billsync knows ${versions.known}. Use the newer billsync, or make a warehouse for this one with \`billsync rebuild\`.`,
    );
  }
}

/** The data folder was written by a newer billsync, in a form that this one would read wrongly. */
export class DataFolderTooNewError extends WarehouseError {
  readonly code = 'data-folder-too-new';
  override readonly exitCode = EXIT.usage;

  constructor(dataDir: string, versions: { readonly found: number; readonly known: number }) {
    super(
      `The data folder ${dataDir} has format ${versions.found}, this billsync knows up to ${versions.known}. Use the newer billsync, or restore the backup from before the upgrade.`,
    );
  }
}

/** A load was asked for a file that the archive does not have, or has with another size. */
export class FileNotArchivedError extends WarehouseError {
  readonly code = 'file-not-archived';
  override readonly exitCode = EXIT.rejected;
  override readonly hint =
    '`billsync verify --full` says what else the archive lacks; put it back from the backup, or `billsync invoices retry`';

  constructor(sha256: string, problem: string) {
    super(`File ${sha256} of the archive: ${problem}. It has to be downloaded again.`);
  }
}

/** The copy that was about to be published does not hold what the warehouse holds; readers keep the old one. */
export class PublicationError extends WarehouseError {
  readonly code = 'publication-failed';
  override readonly exitCode = EXIT.checkFailed;
  override readonly hint =
    '`billsync verify` says whether the warehouse is whole; the worker publishes again automatically';

  constructor(problem: string, cause?: unknown) {
    super(`The copy for readers was not published: ${problem}. Readers keep the previous one.`, { cause });
  }
}

/** The disk has too little room for what was about to be written; nothing was. Goes on by itself once there is some. */
export class NoDiskSpaceError extends WarehouseError {
  readonly code = 'no-room';
  override readonly exitCode = EXIT.checkFailed;

  constructor(folder: string, bytes: { readonly freeBytes: number; readonly needBytes: number }) {
    const mib = (count: number): string => (count / 1024 ** 2).toFixed(0);
    super(
      `The disk of ${folder} has ${mib(bytes.freeBytes)} MiB free, ${mib(bytes.needBytes)} MiB are needed. Free some space; loading then continues automatically.`,
    );
  }
}

/** Somebody asked a database that this process has closed; nothing was done. It is our fault. */
export class DatabaseClosedError extends WarehouseError {
  readonly code = 'database-closed';

  constructor(path: string) {
    super(`The database ${path} was used after it was closed.`);
  }
}

/** COMMIT answered, the rows are not there (hazard 9). */
export class LoadLostError extends WarehouseError {
  readonly code = 'load-lost';

  constructor(invoiceId: string, problem: string) {
    super(`Loading invoice ${invoiceId}: ${problem}.`);
  }
}

/** Another writer had the same file in hand and was first. */
export class LoadedMeanwhileError extends WarehouseError {
  readonly code = 'loaded-meanwhile';

  constructor(invoiceId: string, sha256: string) {
    super(`File ${sha256} of invoice ${invoiceId} was loaded by another process in the meantime.`);
  }
}

/** DuckDB and csv-parse do not agree on a file that the byte scan passed. Nothing is loaded; it is our fault. */
export class MisreadError extends WarehouseError {
  readonly code = 'misread';

  constructor(invoiceId: string, problem: string) {
    super(`The file of invoice ${invoiceId} is valid but was not read correctly: ${problem}.`);
  }
}
