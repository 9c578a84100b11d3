import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, test } from 'vitest';
import type { HttpStream } from '../../billing/http.ts';
import { createPartFile, DOWNLOAD_LIMITS, receiveFile } from '../../billing/receive-file.ts';
import { testFolder } from '../support/folders.ts';

let folder: string;
beforeEach(async () => {
  folder = join(testFolder(), 'tmp');
});

function receive(chunks: Iterable<Buffer>): Promise<never> {
  const body = Readable.from(chunks);
  return receiveFile(
    {
      ...{ url: 'https://storage.example/a.csv', endpoint: 'storage.example', folder, signal: undefined },
      ...{ expectedBytes: 1_000, limits: DOWNLOAD_LIMITS },
      open: async () => ({ status: 200, headers: {}, body }) as unknown as HttpStream,
      tooLong: (bytes) => new Error(`${bytes} bytes instead of 1000`),
    },
    async () => expect.unreachable(),
  );
}

test('refuses a page in the place of a file', async () => {
  await expect(receive([Buffer.from('<html><body>Sign in</body></html>')])).rejects.toMatchObject({
    code: 'not-csv',
  });
  expect(await readdir(folder)).toEqual([]);
});

describe('createPartFile', () => {
  test('writes the chunks, readable by its owner only', async () => {
    const part = await createPartFile(folder, null);
    const chunk = Buffer.alloc(300_000, 'x');
    for (let i = 0; i < 8; i++) await part.write(chunk);
    await part.write(Buffer.from('end'));
    await part.finish();
    const expected = Buffer.concat([...Array<Buffer>(8).fill(chunk), Buffer.from('end')]);
    expect((await readFile(part.path)).equals(expected)).toBe(true);
    expect((await stat(part.path)).mode & 0o777).toBe(0o600);
    await part.discard();
    expect(await readdir(folder)).toEqual([]);
  });

  test('leaves a file that was moved', async () => {
    const part = await createPartFile(folder, 3);
    await part.write(Buffer.from('csv'));
    await part.finish();
    await rename(part.path, join(folder, 'moved'));
    await part.discard();
    expect(await readdir(folder)).toEqual(['moved']);
  });

  test('waits for a write in progress before it closes the file', async () => {
    const part = await createPartFile(folder, null);
    const writing = part.write(Buffer.alloc(64 * 1024 * 1024));
    await part.discard();
    const next = openSync(join(folder, 'next'), 'w');
    await writing;
    closeSync(next);
    expect((await stat(join(folder, 'next'))).size).toBe(0);
    expect(await readdir(folder)).toEqual(['next']);
  });

  test('refuses before the first byte without disk space', async () => {
    await expect(createPartFile(folder, 2 ** 60)).rejects.toMatchObject({ code: 'disk-full' });
    expect(await readdir(folder)).toEqual([]);
  });
});
