/** A name that a call has made is flushed with its folder before the call resolves, so that a power cut cannot take it back. */

import { createHash } from 'node:crypto';
import fs, { readdirSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openFolderArchive } from '../../archive/folder-archive.ts';
import { openInbox } from '../../webhook/inbox/inbox.ts';
import { openQuarantine } from '../../webhook/inbox/quarantine.ts';
import { anArchivedEvent } from '../archive/an-event.ts';
import { aFact } from '../archive/contract.ts';
import { testFolder } from '../support/folders.ts';

const AT = '2026-03-01T00:00:00.000Z';

/** Paths below a folder, itself included. */
function names(root: string): readonly string[] {
  if (!fs.existsSync(root)) return [];
  return [root, ...readdirSync(root, { recursive: true, encoding: 'utf8' }).map((name) => join(root, name))];
}

/** Runs `work` and expects that the folder of each new name was flushed meanwhile: it is opened for that alone, and closed afterwards. */
async function expectFlushed<T>(root: string, work: () => Promise<T>): Promise<T> {
  const before = new Set(names(root));
  const opened = new Map<number, string>();
  const flushed = new Set<string>();
  const { openSync, closeSync } = fs;
  fs.openSync = (...args) => {
    const file = openSync(...args);
    if (statSync(args[0]).isDirectory()) opened.set(file, String(args[0]));
    return file;
  };
  fs.closeSync = (file) => {
    flushed.add(opened.get(file) ?? '');
    opened.delete(file);
    closeSync(file);
  };
  syncBuiltinESMExports();
  try {
    const result = await work();
    const made = names(root).filter((name) => !before.has(name));
    expect(made.filter((name) => !flushed.has(dirname(name)))).toEqual([]);
    return result;
  } finally {
    Object.assign(fs, { openSync, closeSync });
    syncBuiltinESMExports();
  }
}

test('in the archive: its folders and journals, events, facts and files', async () => {
  const root = join(testFolder(), 'archive');
  const archive = await expectFlushed(root, () => openFolderArchive(root));
  await expectFlushed(root, () => archive.putEvent(anArchivedEvent()));
  await expectFlushed(root, () => archive.putFact(aFact(AT, 'a')));
  const bytes = Buffer.from('Tenant\r\n');
  const path = join(testFolder(), 'download');
  writeFileSync(path, bytes);
  const scan = { records: 0, findings: [], findingCount: 0, endsWithLineEnd: true, cuts: [] };
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  await expectFlushed(root, () => archive.putFile(path, { sha256, sizeBytes: bytes.length, scan }));
});

test('in the inbox: deliveries, markers and refused ones', async () => {
  const root = join(testFolder(), 'inbox');
  const inbox = await expectFlushed(root, () => openInbox(root));
  const entry = { kind: 'event', eventId: 'e-1', receivedAt: AT, invoiceId: null, code: null } as const;
  await expectFlushed(root, () => inbox.accept(entry, Buffer.from('{}')));
  await expectFlushed(root, () => inbox.trim(entry));
  const quarantine = await expectFlushed(join(root, 'q'), () => openQuarantine(join(root, 'q')));
  const refusal = { code: 'not-json', reason: 'why', eventId: null, invoiceId: null, at: AT, sha256: null };
  const item = { kind: 'delivery', ...refusal, findings: [], findingCount: 0 } as const;
  await expectFlushed(join(root, 'q'), () => quarantine.put(item, Buffer.from('{')));
});
