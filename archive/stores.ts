/** The three parts of every archive, and the archive that they make together; each kind of place has its own three. */

import type { ComparedClock } from '../lib/health/clocks.ts';
import type { ArchivedFile } from '../lib/wire/csv-file.ts';
import type { Archive, ArchivedEvent, Fact, OnUnreadable } from './archive.ts';

/** As the calls of `Archive` that they become. */
export interface EventStore {
  put: Archive['putEvent'];
  get: Archive['event'];
  list(
    after?: string,
    onUnreadable?: OnUnreadable,
  ): AsyncIterable<{ readonly event: ArchivedEvent; readonly cursor: string }>;
  names: Archive['eventNames'];
  trim: Archive['trimEvent'];
}

export interface FileStore {
  put: Archive['putFile'];
  get: Archive['file'];
  localPath: Archive['localPath'];
  reread: Archive['reread'];
  list(): AsyncIterable<ArchivedFile>;
  remove: Archive['removeFile'];
}

export interface FactStore {
  put: Archive['putFact'];
  after: Archive['factsAfter'];
}

/** The archive that these parts make. @param parts.close is called by the archive's own `close` */
export function archiveOf(parts: {
  readonly events: EventStore;
  readonly files: FileStore;
  readonly facts: FactStore;
  readonly clock?: ComparedClock;
  readonly close: () => Promise<void>;
}): Archive {
  const { events, files, facts, clock, close } = parts;
  return {
    putEvent: events.put,
    event: events.get,
    events: (options) => events.list(options?.after, options?.onUnreadable),
    eventNames: events.names,
    trimEvent: events.trim,
    putFile: files.put,
    file: files.get,
    localPath: files.localPath,
    reread: files.reread,
    files: files.list,
    removeFile: files.remove,
    putFact: facts.put,
    facts: (onUnreadable) => inOrderOfInstants(facts.after(null, onUnreadable)),
    factsAfter: facts.after,
    ...(clock === undefined ? {} : { clock }),
    close,
  };
}

async function* inOrderOfInstants(written: AsyncIterable<{ readonly fact: Fact }>): AsyncGenerator<Fact> {
  const facts: Fact[] = [];
  for await (const { fact } of written) facts.push(fact);
  // Array.sort is stable: facts of one instant stay in order of writing.
  yield* facts.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}
