/** Log lines contain no secret of the settings; test/security/secrets.test.ts has all spellings. */

import { describe, expect, test } from 'vitest';
import { createLogger } from '../../lib/log/log.ts';
import { createScrub } from '../../lib/log/scrub.ts';
import { testSettings } from '../webhook/a-delivery.ts';

const settings = {
  ...testSettings('/nowhere', {
    credentials: {
      basicAuth: [{ user: 'hook', password: 'pa"ss+/=word' }],
      headers: [{ name: 'X-Key', value: 'header-secret' }],
    },
    paths: [
      { path: '/acme', credentials: { basicAuth: [], headers: [{ name: 'X-Key', value: 'path-secret' }] } },
    ],
  }),
  encryptionKeys: [{ id: 'a', key: Buffer.alloc(32, 7) }],
};

const SPELLINGS = [
  'client+secret/=',
  encodeURIComponent('client+secret/='),
  Buffer.from('client:client+secret/=').toString('base64'),
  'pa"ss+/=word',
  JSON.stringify('pa"ss+/=word').slice(1, -1),
  Buffer.from('hook:pa"ss+/=word').toString('base64'),
  'header-secret',
  'path-secret',
  Buffer.alloc(32, 7).toString('base64'),
];

describe('scrub', () => {
  test('removes URL queries, bearer tokens and token answers only', () => {
    const scrub = createScrub(settings);
    expect(scrub('GET https://s.example/f.csv?X-Amz-Signature=abc failed')).toBe(
      'GET https://s.example/f.csv failed',
    );
    expect(scrub('authorization: Bearer abc.def-ghi=')).toBe('authorization: Bearer ***');
    expect(scrub('{"access_token":"abc=","expires_in":3}')).toBe('{"access_token":"***","expires_in":3}');
    expect(scrub('Invoice 7f3a: 4110 bytes arrived')).toBe('Invoice 7f3a: 4110 bytes arrived');
  });
});

describe.each(['json', 'pretty'] as const)('a %s log', (format) => {
  test('has role, level and message, without secrets of errors and fields', () => {
    const lines: string[] = [];
    const log = createLogger({ ...settings, log: { level: 'debug', format } }, 'webhook', {
      write: (line) => lines.push(line),
    });
    const cause = new Error(`refused ${SPELLINGS[0]}`);
    log.warn(
      { err: new Error('no token', { cause }), deep: { er: { than: SPELLINGS } } },
      `sent ${SPELLINGS[5]}`,
    );
    log.trace('below the level');
    const text = lines.join('');
    expect(text).toContain('webhook');
    expect(text).toMatch(/warn/i);
    expect(text).toContain('no token');
    expect(text).not.toContain('below the level');
    for (const secret of SPELLINGS) expect(text).not.toContain(secret);
    if (format === 'json') {
      for (const line of lines)
        expect(JSON.parse(line)).toMatchObject({ role: 'webhook', environment: 'test' });
    }
  });
});
