/** Asks for a file only when it is another one than we have: RFC 9110's validators, as far as a service gives them. */

import type { IncomingHttpHeaders } from 'node:http';
import type { FileTag } from './billing-service.ts';

/** @returns null when the answer tells nothing by which its file could be known again */
export function tagOf(headers: IncomingHttpHeaders): FileTag | null {
  const { etag = null, 'last-modified': lastModified = null } = headers;
  return etag === null && lastModified === null ? null : { etag, lastModified };
}

export function unlessHeaders({ etag, lastModified }: FileTag): Readonly<Record<string, string>> {
  if (etag !== null) return { 'if-none-match': etag };
  return lastModified === null ? {} : { 'if-modified-since': lastModified };
}

/** For a service that answers a conditional request with the whole file: its head is enough. A date alone may lag behind. */
export function isSameFile(tag: FileTag, headers: IncomingHttpHeaders): boolean {
  return tag.etag !== null && strong(tag.etag) === strong(headers.etag ?? '');
}

/** `W/` says that the bytes may be encoded otherwise, not that the file is another one. */
function strong(etag: string): string {
  return etag.replace(/^W\//, '');
}
