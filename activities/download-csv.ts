/** Downloads an announced CSV into the archive and proves it by size and SHA-256 (spec 6, rule 8). */

import { cancellationSignal, heartbeat } from '@temporalio/activity';
import {
  HashMismatchError,
  HostNotAllowedError,
  ImpossibleAnnouncementError,
  SizeMismatchError,
  UrlRefusedError,
} from '../billing/errors.js';
import type { ExportLocation } from '../contract/invoice-event.js';
import type { BillingDependencies } from './dependencies.js';
import { translated } from './failures.js';
import { alertingNoRoom } from './room-alert.js';

export interface DownloadCsvRequest {
  readonly invoiceId: string;
  readonly location: ExportLocation;
  readonly source: 'event' | 'regenerate';
}

export type DownloadCsvResult =
  | {
      readonly outcome: 'fetched';
      readonly sha256: string;
      readonly sizeBytes: number;
      /** The announced hash, or, where that was the hash of an encoded file, the one of the file itself. */
      readonly announcedSha256?: string;
    }
  /** Storage said 400, 401, 403 or 404: this URL is of no more use. */
  | { readonly outcome: 'url-refused'; readonly message: string }
  /** An event's URL points to a host that is not on the list: get a URL from the service itself. */
  | { readonly outcome: 'host-not-allowed'; readonly message: string }
  /** No file can be as it was announced; a fresh announcement may be sound. */
  | { readonly outcome: 'impossible-announcement'; readonly message: string }
  /** The bytes are not the announced ones; the message names both hashes or sizes. */
  | { readonly outcome: 'mismatch'; readonly message: string };

export function downloadCsv({ service, alerts }: BillingDependencies) {
  return (request: DownloadCsvRequest): Promise<DownloadCsvResult> =>
    translated(async () => {
      try {
        const options = { signal: cancellationSignal(), onProgress: heartbeat };
        const download = () => service.downloadCsv(request, options);
        const { sha256, sizeBytes } = await alertingNoRoom(alerts, download);
        return { outcome: 'fetched', sha256, sizeBytes, announcedSha256: sha256 };
      } catch (error) {
        if (error instanceof HashMismatchError || error instanceof SizeMismatchError) {
          return { outcome: 'mismatch', message: error.message };
        }
        if (
          error instanceof UrlRefusedError ||
          error instanceof HostNotAllowedError ||
          error instanceof ImpossibleAnnouncementError
        ) {
          return { outcome: error.code, message: error.message };
        }
        throw error;
      }
    });
}
