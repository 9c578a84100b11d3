/** Takes queries off URLs, because the query of a presigned URL is a key to the file and must not outlive its use. */

import { isLosslessNumber } from 'lossless-json';
import type { InvoiceEvent } from './invoice-event.ts';

/** A whole URL in text. In JSON text its slashes may be escaped, and another escape, such as that of a quote, ends it. */
const URL_TEXT = /https?:(?:\\?\/){2}(?:[^\s"<>\\]|\\\/|\\u[0-9a-f]{4})*/gi;
/** Where the query starts: `?` or `#`, in JSON also as \u003f and \u0023. */
const QUERY_START = /[?#]|\\u003f|\\u0023/i;

/** The URL without query, fragment, user and password; text that is no URL comes back cut at its first `?` or `#`. */
export function withoutQuery(url: string): string {
  if (!URL.canParse(url)) return url.split(/[?#]/, 1)[0] ?? '';
  const { protocol, host, pathname } = new URL(url);
  return host === '' ? protocol + pathname : `${protocol}//${host}${pathname}`;
}

/** Text of any kind (a log line, a broken delivery) in which no URL keeps its query. */
export function withoutUrlQueries(text: string): string {
  return text.replace(URL_TEXT, (url) => {
    const start = url.search(QUERY_START);
    return (start === -1 ? url : url.slice(0, start)).replace(/^(https?:(?:\\?\/){2})[^/\\@]*@/i, '$1');
  });
}

/**
 * A parsed JSON value in which no URL keeps its query, in whatever field it stands: the specification names one
 * (`presignedUrl`), the next version of the service may name another.
 */
export function withoutUrlQueriesInside(json: unknown, key = ''): unknown {
  if (typeof json === 'string') return key === 'presignedUrl' ? withoutQuery(json) : withoutUrlQueries(json);
  if (Array.isArray(json)) return json.map((element) => withoutUrlQueriesInside(element, key));
  if (typeof json !== 'object' || json === null || isLosslessNumber(json)) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, withoutUrlQueriesInside(value, name)]),
  );
}

/** The event as the archive keeps it for ever. */
export function withoutUrlQuery(event: InvoiceEvent): InvoiceEvent {
  if (event.export === null) return event;
  return {
    ...event,
    export: { ...event.export, presignedUrl: withoutQuery(event.export.presignedUrl) },
  };
}
