/** Only size and hash of a file are stored; its bytes are generated again for each reader. */

import type { Core } from '../core.ts';
import type { FileLocation } from '../delivery/events.ts';
import { type Faults, type Moment, numberParam, switchParam } from '../faults/faults.ts';
import { MALFORMATION_NAMES } from '../faults/malformed-csv.ts';
import type { ExportFile, Invoice } from '../model.ts';
import { bytesFrom, fractionFrom, uuidFrom } from '../randomness.ts';
import { csvChunks, measureCsv } from '../storage/csv-file.ts';
import { presign } from '../storage/presigned.ts';
import type { InvoiceBook } from './invoice-book.ts';
import { makeInvoice } from './new-invoice.ts';

export type ExportsOptions = Core & { readonly faults: Faults };

export class Exports {
  readonly #options: ExportsOptions;
  readonly #book: InvoiceBook;
  #sample: Promise<Invoice> | null = null;
  readonly #sampleId: string;

  constructor(options: ExportsOptions, book: InvoiceBook) {
    this.#options = options;
    this.#book = book;
    this.#sampleId = uuidFrom(options.seed, options.environment, 'invoice', 0);
  }

  async stored(key: string): Promise<{ invoice: Invoice; file: ExportFile } | null> {
    const invoiceId = key.split('/')[1] ?? '';
    const sample = invoiceId === this.#sampleId ? await this.sampleInvoice() : null;
    const invoice = sample ?? this.#options.store.get('invoice', invoiceId);
    if (invoice === undefined) return null;
    const file = (sample === null ? invoice.exports : [invoice.file]).find((one) => one.key === key);
    return file === undefined ? null : { invoice, file };
  }

  read(invoice: Invoice, file: ExportFile): Generator<Buffer> {
    return csvChunks(this.#book.csvSource(invoice), file.malformation);
  }

  /** Makes the file's size and hash; the caller stores them together with the new status of the invoice. */
  async prepare(invoice: Invoice, malformation: string | null): Promise<ExportFile> {
    const folder = invoice.file.key.slice(0, invoice.file.key.lastIndexOf('/'));
    const key = `${folder}/${invoice.exports.length + 1}.csv`;
    if (malformation === null) return { ...invoice.file, key };
    const { sha256, sizeBytes } = await measureCsv(this.#book.csvSource(invoice), malformation);
    return { sha256, sizeBytes, key, malformation };
  }

  drawMalformation(invoice: Invoice, moment: Moment): string | null {
    const rule = this.#options.faults.strike('malformed-csv', moment);
    if (rule === null) return null;
    if (rule.params.kind !== 'random') return String(rule.params.kind);
    const draw = fractionFrom(rule.seed, 'malformation', invoice.invoiceId);
    return MALFORMATION_NAMES[Math.floor(draw * MALFORMATION_NAMES.length)] ?? 'empty-file';
  }

  /** The fault shifts the instants that the service writes; URLs expire by the right clock all the same. */
  skewMs(moment: Moment): number {
    const rule = this.#options.faults.strike('clock-skew', moment);
    return rule === null ? 0 : numberParam(rule, 'hours') * 3_600_000;
  }

  locate(invoice: Invoice, file: ExportFile, moment: Moment, skewMs: number): FileLocation {
    const { faults, signingSecret, storageUrl, urlLifetimeSeconds, now } = this.#options;
    const expired = faults.strike('expired-url', moment);
    const wrongHash = faults.strike('wrong-hash', moment) !== null;
    const wrongSize = faults.strike('wrong-size', moment);
    const usual = new Date(now().getTime() + urlLifetimeSeconds * 1_000);
    const expiresAt = expired === null ? usual : new Date(now().getTime() - 1_000);
    const announced = expired !== null && switchParam(expired, 'silent') ? usual : expiresAt;
    return {
      presignedUrl: presign({ storageUrl: storageUrl(), signingSecret, key: file.key, expiresAt }),
      presignedUrlExpiresAt: new Date(announced.getTime() + skewMs).toISOString(),
      fileHashSha256: wrongHash
        ? bytesFrom(32, 'wrong hash', invoice.invoiceId).toString('hex')
        : file.sha256,
      fileSizeBytes: file.sizeBytes + (wrongSize === null ? 0 : numberParam(wrongSize, 'by')),
    };
  }

  /** The invoice of test payloads: its file can be downloaded, but it is in no list and has no endpoint. */
  sampleInvoice(): Promise<Invoice> {
    const { seed, environment, now } = this.#options;
    const { partner } = this.#book;
    const tenant = this.#book.tenants()[0] ?? null;
    this.#sample ??= makeInvoice(
      { shipments: 3, set: { invoiceNumber: 'TEST-000000', partnerInvoiceId: null } },
      {
        seed,
        environment,
        sequence: 0,
        now: now(),
        partner,
        tenant,
        sources: [],
        find: (id) => this.#book.invoice(id),
      },
    );
    return this.#sample;
  }
}
