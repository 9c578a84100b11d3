import { type DetailsOptions, DetailsReader, type InvoiceDetails } from '../../../lib/wire/parse-details.ts';

/** Parses details that are complete. @throws MalformedAnswerError */
export function parseDetails(body: Uint8Array, options: DetailsOptions): InvoiceDetails {
  const reader = new DetailsReader(options);
  reader.push(body);
  return reader.end();
}
