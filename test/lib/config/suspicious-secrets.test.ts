import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSettings } from '../../../lib/config/load-settings.ts';
import { suspiciousSecrets } from '../../../lib/config/settings.ts';

function found(env: Readonly<Record<string, string>>) {
  const none = { BILLSYNC_CLIENT_ID: 'id', BILLSYNC_WEBHOOK_BASIC_AUTH: 'hook:correct-horse-battery' };
  return suspiciousSecrets(loadSettings({ cwd: tmpdir(), env: { ...none, ...env } }));
}

test.each([
  ['\uFEFFs3cret', 'begins with a byte order mark (U+FEFF)'],
  ['"s3cret"', 'begins and ends with a quotation mark (")'],
  ["'s3cret'", "begins and ends with a quotation mark (')"],
  ['s3cret\r', 'contains a carriage return or a line feed'],
  [' s3cret', 'begins with a blank'],
  ['s3cret\t', 'ends with a blank'],
  ['s3\u200Bcret', 'contains an invisible character'],
])('a client secret %j is named', (text, what) => {
  expect(found({ BILLSYNC_CLIENT_SECRET: text })).toEqual([{ setting: 'BILLSYNC_CLIENT_SECRET', what }]);
});

test('a secret in a file of UTF-16, and quotation marks around credentials, are named', () => {
  const path = join(tmpdir(), `secret-${process.pid}.txt`);
  writeFileSync(path, Buffer.from('\uFEFFs3cret\r\n', 'utf16le'));
  expect(found({ BILLSYNC_CLIENT_SECRET_FILE: path })).toMatchObject([
    { setting: 'BILLSYNC_CLIENT_SECRET', what: expect.stringContaining('UTF-16') },
  ]);
  expect(found({ BILLSYNC_WEBHOOK_BASIC_AUTH: '"hook:correct-horse-battery"' })).toMatchObject([
    { setting: 'BILLSYNC_WEBHOOK_BASIC_AUTH', what: expect.stringContaining('quotation mark') },
  ]);
});

test.each(['s3cret', 'a b"c\'d', '"', "it's", 'p:ss+/=', 'pässwörd'])('%j is not named', (text) => {
  expect(found({ BILLSYNC_CLIENT_SECRET: text })).toEqual([]);
});
