import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';

export interface Acknowledged {
  readonly eventId: string;
  readonly kind: 'event' | 'test' | 'refused';
}

export async function checkEndpoint(dataDir: string, acknowledged: readonly Acknowledged[]) {
  const archive = await openFolderArchive(join(dataDir, 'archive'));
  const inbox = await openInbox(join(dataDir, 'inbox'));
  const sent = new Map<string, number>();
  for (const eventId of await sentEvents(dataDir)) sent.set(eventId, (sent.get(eventId) ?? 0) + 1);
  const verdicts = new Map<string, string>();
  for await (const { event } of archive.events()) verdicts.set(event.eventId, event.verdict);
  const lost: string[] = [];
  const wronglySent: string[] = [];
  for (const { eventId, kind } of acknowledged) {
    const verdict = { event: 'accepted', test: 'test', refused: 'quarantined' }[kind];
    const isDone = (await inbox.has({ kind, eventId })) === 'done';
    const isSent = sent.has(eventId);
    if (verdicts.get(eventId) !== verdict || !isDone || (kind === 'event' && !isSent)) lost.push(eventId);
    if (kind !== 'event' && isSent) wronglySent.push(eventId);
  }
  const names = (await readdir(dataDir, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const leaks: string[] = [];
  for (const { parentPath, name } of names) {
    const path = join(parentPath, name);
    if (!path.includes('/inbox/') && (await readFile(path, 'latin1')).includes('presigned-secret'))
      leaks.push(path);
  }
  return {
    lost,
    wronglySent,
    // Allowed (at least once): the workflow drops it by eventId.
    sentAgain: [...sent.values()].filter((times) => times > 1).length,
    archived: verdicts.size,
    leaks,
    temporaryFiles: names.map(({ name }) => name).filter((name) => name.endsWith('.tmp')),
  };
}

export async function sentEvents(dataDir: string): Promise<string[]> {
  try {
    return (await readFile(join(dataDir, 'sent'), 'utf8')).split('\n').filter((line) => line !== '');
  } catch {
    return [];
  }
}
