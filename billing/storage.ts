/** Object storage as a presigned URL opens it: a stranger to whom nothing of ours is shown (spec 2.7, 8). */

import { encodingsIn } from '../lib/wire/api.ts';
import type { ExportLocation } from '../lib/wire/names.ts';
import { type AnswerCheck, checkedOpen, readAnswer } from './check-answer.ts';
import { SizeMismatchError } from './errors.ts';
import type { Http, HttpStream } from './http.ts';

/**
 * Opens the file of an export location.
 *
 * @throws UrlRefusedError storage said 4xx: regenerate
 * @throws SizeMismatchError what the head already gives away, before a byte is read
 */
export async function openStorage(
  { http, check }: { readonly http: Http; readonly check: AnswerCheck },
  { invoiceId, location }: { readonly invoiceId: string; readonly location: ExportLocation },
  signal: AbortSignal,
): Promise<HttpStream> {
  const { presignedUrl: url, fileSizeBytes: expectedBytes } = location;
  // No Authorization: the URL carries its own, and storage must never see our token.
  const stream = await http.open({ method: 'GET', url, signal });
  const answer = stream.status === 200 ? stream : await readAnswer(stream, { url, signal });
  return checkedOpen(answer, () => {
    check.storage(answer, url);
    // The length is that of the bytes on the wire: encoded ones say nothing of the file's.
    if (encodingsIn(answer.headers['content-encoding']).length > 0) return;
    const announcedLength = Number(answer.headers['content-length'] ?? expectedBytes);
    if (announcedLength !== expectedBytes)
      throw new SizeMismatchError(invoiceId, expectedBytes, announcedLength);
  });
}
