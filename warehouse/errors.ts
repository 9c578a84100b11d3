/** What can be wrong with the warehouse itself; what is wrong with a file is a value, not an error. */

import type { Made } from './opening.js';

/** Base of everything the warehouse throws. `code` is for machines and never changes. */
export abstract class WarehouseError extends Error {
  abstract readonly code: string;
}

/** Another process holds the warehouse (exit code 8). */
export class WarehouseLockedError extends WarehouseError {
  override readonly name = 'WarehouseLockedError';
  readonly code = 'warehouse_locked';
  /** null when only DuckDB's own lock told us. */
  readonly owner: { readonly pid: number; readonly role: string } | null;

  /** @param who when there is more to say of the owner than that it is another process */
  constructor(
    path: string,
    owner: { readonly pid: number; readonly role: string } | null,
    who = owner === null ? 'another process' : `process ${owner.pid} (${owner.role})`,
  ) {
    super(`The warehouse ${path} is in use by ${who}. Ask it, or stop it first.`);
    this.owner = owner;
  }
}

/** The data folder or the lake belongs to the other environment; test and production never mix (exit code 2). */
export class EnvironmentMismatchError extends WarehouseError {
  override readonly name = 'EnvironmentMismatchError';
  readonly code = 'environment_mismatch';

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
  override readonly name = 'WarehouseCorruptError';
  readonly code = 'warehouse_corrupt';

  constructor(path: string, cause: unknown) {
    const detail = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
    super(`The warehouse ${path} is damaged (${detail}).`, { cause });
  }
}

/** The archive cannot make all of the warehouse again: nothing was replaced (exit code 1). */
export class RebuildLossError extends WarehouseError {
  override readonly name = 'RebuildLossError';
  readonly code = 'rebuild_loses';
  /** What would be there, and what would be lost. */
  readonly made: Made;

  constructor(path: string, made: Made) {
    super(
      `The archive cannot make all of ${path} again. The warehouse and the published copy stay as they are.`,
    );
    this.made = made;
  }
}

/** Made by a newer billsync than this one (exit code 2). */
export class WarehouseTooNewError extends WarehouseError {
  override readonly name = 'WarehouseTooNewError';
  readonly code = 'warehouse_too_new';

  constructor(path: string, versions: { readonly found: number; readonly known: number }) {
    super(
      `The warehouse ${path} has schema ${versions.found}, this billsync knows ${versions.known}. Use the newer billsync.`,
    );
  }
}

/** A load was asked for a file that the archive does not have, or has with another size. */
export class FileNotArchivedError extends WarehouseError {
  override readonly name = 'FileNotArchivedError';
  readonly code = 'file_not_archived';

  constructor(sha256: string, problem: string) {
    super(`File ${sha256} of the archive: ${problem}. It has to be downloaded again.`);
  }
}

/** The copy that was about to be published does not hold what the warehouse holds; readers keep the old one. */
export class PublicationError extends WarehouseError {
  override readonly name = 'PublicationError';
  readonly code = 'publication_failed';

  constructor(problem: string, cause?: unknown) {
    super(`The copy for readers was not published: ${problem}. Readers keep the previous one.`, { cause });
  }
}

/** The disk has too little room for what was about to be written; nothing was. Goes on by itself once there is some. */
export class NoDiskSpaceError extends WarehouseError {
  override readonly name = 'NoDiskSpaceError';
  readonly code = 'no_room';

  constructor(folder: string, bytes: { readonly freeBytes: number; readonly needBytes: number }) {
    const mib = (count: number): string => (count / 1024 ** 2).toFixed(0);
    super(
      `The disk of ${folder} has ${mib(bytes.freeBytes)} MiB free, ${mib(bytes.needBytes)} MiB are needed. Make room; it then goes on by itself.`,
    );
  }
}

/** Somebody asked a database that this process has closed; nothing was done. It is our fault. */
export class DatabaseClosedError extends WarehouseError {
  override readonly name = 'DatabaseClosedError';
  readonly code = 'database_closed';

  constructor(path: string) {
    super(`The database ${path} was asked after it was closed.`);
  }
}

/** COMMIT answered, the rows are not there (hazard 9). */
export class LoadLostError extends WarehouseError {
  override readonly name = 'LoadLostError';
  readonly code = 'load_lost';

  constructor(invoiceId: string, problem: string) {
    super(`Loading invoice ${invoiceId}: ${problem}.`);
  }
}

/** Another writer had the same file in hand and was first. */
export class LoadedMeanwhileError extends WarehouseError {
  override readonly name = 'LoadedMeanwhileError';
  readonly code = 'loaded_meanwhile';

  constructor(invoiceId: string, sha256: string) {
    super(`File ${sha256} of invoice ${invoiceId} was loaded by somebody else meanwhile.`);
  }
}

/** DuckDB and csv-parse do not agree on a file that the byte scan passed. Nothing is loaded; it is our fault. */
export class MisreadError extends WarehouseError {
  override readonly name = 'MisreadError';
  readonly code = 'misread';

  constructor(invoiceId: string, problem: string) {
    super(`The file of invoice ${invoiceId} is good but was not read as it is written: ${problem}.`);
  }
}
