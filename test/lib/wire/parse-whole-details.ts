import { type DetailsOptions, DetailsReader, type InvoiceDetails } from '../../../lib/wire/parse-details.ts';

export function parseDetails(body: Uint8Array, options: DetailsOptions): InvoiceDetails {
  const reader = new DetailsReader(options);
  reader.push(body);
  return reader.end();
}
