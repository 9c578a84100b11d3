import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadSettings } from '../../../lib/config/load-settings.ts';
import { settingsFileTemplate } from '../../../lib/config/setting-definitions.ts';
import { durationMs } from '../../../lib/config/setting-values.ts';
import { requireService, SettingsError } from '../../../lib/config/settings.ts';
import { testFolder } from '../../support/folders.ts';

const folder = () => testFolder();

function problemsOf(run: () => unknown): readonly string[] {
  try {
    run();
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map((p) => `${p.setting} ${p.message}`);
    throw error;
  }
  return [];
}

/** Others may write to a file of this mask's default, and it is then not read. */
function writeSettings(cwd: string, text: string): void {
  writeFileSync(join(cwd, 'billsync.yaml'), text, { mode: 0o600 });
}

describe('loadSettings', () => {
  test('refuses paths with a question mark', () => {
    const cwd = join(folder(), 'a#b?c');
    expect(problemsOf(() => loadSettings({ env: {}, cwd }))).toEqual([
      expect.stringContaining(`BILLSYNC_DATA_DIR is ${join(cwd, 'data')}: DuckDB cannot`),
    ]);
    const env = { BILLSYNC_DATA_DIR: '/srv/a#b', BILLSYNC_WAREHOUSE: 'duckdb:w?x.duckdb' };
    expect(problemsOf(() => loadSettings({ env, cwd: folder() }))).toEqual([
      expect.stringContaining('BILLSYNC_WAREHOUSE is '),
    ]);
  });

  test('ranks flags over environment over file over defaults', () => {
    const cwd = folder();
    writeSettings(cwd, 'webhook_port: 1\nadmin_port: 1\noverdue_after: [2h, 3h]\nwebhook_path: /from-file\n');
    const settings = loadSettings({
      cwd,
      env: { BILLSYNC_WEBHOOK_PORT: '2', BILLSYNC_ADMIN_PORT: '2' },
      flags: { BILLSYNC_WEBHOOK_PORT: '3' },
    });
    expect(settings.webhook.port).toBe(3);
    expect(settings.admin.port).toBe(2);
    expect(settings.webhook.path).toBe('/from-file');
    expect(settings.overdueAfter).toEqual(['2h', '3h']);
  });

  test('reads a secret from the file in NAME_FILE, without its last line end', () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'secret'), 's+/=:cret\n');
    const settings = loadSettings({ cwd, env: { BILLSYNC_CLIENT_SECRET_FILE: 'secret' } });
    expect(settings.service.clientSecret).toBe('s+/=:cret');
  });

  test('refuses a secret that is given twice, and one whose file is not there', () => {
    const problems = problemsOf(() =>
      loadSettings({
        cwd: folder(),
        env: {
          BILLSYNC_CLIENT_SECRET: 'a',
          BILLSYNC_CLIENT_SECRET_FILE: 'b',
          BILLSYNC_API_KEY_FILE: '/nowhere',
        },
      }),
    );
    expect(problems.join('\n')).toMatch(/BILLSYNC_CLIENT_SECRET is given twice/);
    expect(problems.join('\n')).toMatch(/BILLSYNC_API_KEY_FILE .*\/nowhere/);
  });

  test('reports every problem at once with suggestions and without secrets', () => {
    const cwd = folder();
    writeSettings(cwd, 'webhok_port: 1\noverdue_after: soon\n');
    const problems = problemsOf(() =>
      loadSettings({
        cwd,
        env: {
          BILLSYNC_DATA_DRI: 'x',
          BILLSYNC_ENVIRONMENT: 'prod',
          BILLSYNC_BASE_URL: 'http://plain.example.com',
          BILLSYNC_ENCRYPTION_KEY: 'k1:c2VjcmV0',
          BILLSYNC_WEBHOOK_BASIC_AUTH: 'hunter2withoutcolon',
        },
      }),
    );
    expect(problems).toHaveLength(7);
    const text = problems.join('\n');
    expect(text).toMatch(/webhok_port .* did you mean webhook_port\?/);
    expect(text).toMatch(/BILLSYNC_DATA_DRI .* did you mean BILLSYNC_DATA_DIR\?/);
    expect(text).toMatch(/BILLSYNC_ENVIRONMENT must be one of test, production/);
    expect(text).toMatch(/BILLSYNC_BASE_URL must begin with https/);
    expect(text).toMatch(/32 are needed/);
    expect(text).not.toMatch(/hunter2|c2VjcmV0/);
  });

  test('does not quote a broken settings file', () => {
    const cwd = folder();
    writeSettings(cwd, 'client_secret: "hunter2\nenvironment: test\n');
    const problems = problemsOf(() => loadSettings({ cwd, env: {} }));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(/not valid YAML at line \d+/);
    expect(problems[0]).not.toMatch(/hunter2/);
  });

  test.each([
    ['a password that begins like an alias', 'environment: test\nclient_secret: *hunter2\n', /an alias/],
    ['a key that holds the secret', 'environment: test\n"client_secret: hunter2": y\n', /not a name/],
    ['aliases that multiply', `a: &a [${'x,'.repeat(20)}x]\n${multiplied(9)}`, /an alias|not a setting/],
  ])('refuses %s without quoting it', (_name, text, reason) => {
    const cwd = folder();
    writeSettings(cwd, text);
    const problems = problemsOf(() => loadSettings({ cwd, env: {} })).join('\n');
    expect(problems).toMatch(reason);
    expect(problems).not.toMatch(/hunter2/);
  });

  test.each([
    ['BILLSYNC_OVERDUE_AFTER', ['999999999999999999d', '3651d', '0s', '1ms', '1h,0s']],
    ['BILLSYNC_RECONCILE_EVERY', ['999999999999999999999h', '0s', '1ms', '1 fortnight']],
    ['BILLSYNC_ALERT_QUIET_WINDOW', ['99999999d']],
    ['BILLSYNC_WAREHOUSE_MEMORY_LIMIT', ['99999999999999999TB', '0GB', '0.0GB']],
  ])('refuses extremes of %s', (variable, texts) => {
    for (const text of texts) {
      expect(problemsOf(() => loadSettings({ cwd: folder(), env: { [variable]: text } }))).toHaveLength(1);
    }
  });

  test.each(['1w', '2 weeks', '90 min', '30sec', '1.5 hours', '3 days'])(
    'takes %s for any duration, and alerts read it as well',
    (text) => {
      const settings = loadSettings({
        cwd: folder(),
        env: { BILLSYNC_ALERT_QUIET_WINDOW: text, BILLSYNC_RECONCILE_EVERY: text },
      });
      expect(durationMs(settings.alerts.quietWindow)).toBeGreaterThan(1_000);
    },
  );

  test('accepts two passwords and two keys during a rotation', () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    const settings = loadSettings({
      cwd: folder(),
      env: {
        BILLSYNC_WEBHOOK_BASIC_AUTH: 'u:p:with+/=\nv:q',
        BILLSYNC_WEBHOOK_HEADERS: 'X-One: 1\nX-Two: a: b',
        BILLSYNC_ENCRYPTION_KEY: `new:${key},old:${key}`,
      },
    });
    expect(settings.webhook.credentials.basicAuth).toEqual([
      { user: 'u', password: 'p:with+/=' },
      { user: 'v', password: 'q' },
    ]);
    expect(settings.webhook.credentials.headers).toEqual([
      { name: 'x-one', value: '1' },
      { name: 'x-two', value: 'a: b' },
    ]);
    expect(settings.encryptionKeys.map(({ id }) => id)).toEqual(['new', 'old']);
  });

  test('gives paths below the endpoint credentials of their own', () => {
    const cwd = folder();
    writeSettings(
      cwd,
      'webhook_paths:\n  - path: /webhooks/billing/voids\n    basic_auth: a:b\n    headers:\n      X-Key: k\n',
    );
    expect(loadSettings({ cwd, env: {} }).webhook.paths).toEqual([
      {
        path: '/webhooks/billing/voids',
        credentials: { basicAuth: [{ user: 'a', password: 'b' }], headers: [{ name: 'x-key', value: 'k' }] },
      },
    ]);
  });

  test('needs a partner with an API key, and one way to sign in', () => {
    const problems = problemsOf(() =>
      loadSettings({ cwd: folder(), env: { BILLSYNC_API_KEY: 'k', BILLSYNC_CLIENT_SECRET: 's' } }),
    );
    expect(problems.join('\n')).toMatch(/BILLSYNC_PARTNER_ID is needed/);
    expect(problems.join('\n')).toMatch(/keep one/);
  });

  test('refuses a client id that HTTP Basic cannot carry', () => {
    const problems = problemsOf(() => loadSettings({ cwd: folder(), env: { BILLSYNC_CLIENT_ID: 'a:b' } }));
    expect(problems).toEqual([expect.stringMatching(/^BILLSYNC_CLIENT_ID must not contain a colon/)]);
  });

  test('takes an address, a profile or a file for a configured Temporal', () => {
    const cwd = folder();
    for (const variable of ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE']) {
      expect(loadSettings({ cwd, env: { [variable]: 'x' } }).temporalConfigured).toBe(true);
    }
  });
});

describe('requireService', () => {
  test('names every missing setting of the service', () => {
    const settings = loadSettings({ cwd: folder(), env: { BILLSYNC_BASE_URL: 'https://api.example.com' } });
    expect(problemsOf(() => requireService(settings)).map((p) => p.split(' ')[0])).toEqual([
      'BILLSYNC_AUTH_URL',
      'BILLSYNC_CLIENT_ID',
      'BILLSYNC_CLIENT_SECRET',
    ]);
  });
});

describe('settingsFileTemplate', () => {
  test('sets only the given values', () => {
    const cwd = folder();
    const given = new Map([['BILLSYNC_OVERDUE_AFTER', '5m,10m']]);
    writeSettings(cwd, settingsFileTemplate(given));
    const settings = loadSettings({ cwd, env: {} });
    expect(settings.overdueAfter).toEqual(['5m', '10m']);
    expect({ ...settings, overdueAfter: [] }).toEqual({
      ...loadSettings({ cwd: folder(), env: {} }),
      ...paths(cwd),
    });
  });

  const paths = (cwd: string) => ({
    overdueAfter: [],
    dataDir: join(cwd, 'data'),
    warehouse: { kind: 'duckdb', path: join(cwd, 'data', 'warehouse.duckdb') },
    archive: { kind: 'folder', path: join(cwd, 'data', 'archive') },
  });
});

describe('a comma in the credentials of the webhook', () => {
  const ALL = [
    ['hook:a,b', [{ user: 'hook', password: 'a,b' }]],
    [
      'hook:old,hook:new',
      [
        { user: 'hook', password: 'old' },
        { user: 'hook', password: 'new' },
      ],
    ],
    ['hook:a,b:c\n', [{ user: 'hook', password: 'a,b:c' }]],
    [
      'one:a,b:c\ntwo:d',
      [
        { user: 'one', password: 'a,b:c' },
        { user: 'two', password: 'd' },
      ],
    ],
  ] as const;

  test.each(ALL)('%j', (text, expected) => {
    const { webhook } = loadSettings({ env: { BILLSYNC_WEBHOOK_BASIC_AUTH: text }, cwd: '/nowhere' });
    expect(webhook.credentials.basicAuth).toEqual(expected);
  });

  test('is refused where it is ambiguous, and is a list in the settings file', () => {
    const env = { BILLSYNC_WEBHOOK_BASIC_AUTH: 'hook:a,b:c' };
    expect(() => loadSettings({ env, cwd: '/nowhere' })).toThrow(/ambiguous.*its own line/);
    const cwd = folder();
    writeSettings(cwd, 'webhook_basic_auth:\n  - hook:a,b:c\n');
    const { webhook } = loadSettings({ env: {}, cwd });
    expect(webhook.credentials.basicAuth).toEqual([{ user: 'hook', password: 'a,b:c' }]);
  });
});

/** Each line contains the previous one ten times: a few hundred bytes that expand to gigabytes. */
function multiplied(levels: number): string {
  const names = 'abcdefghijk';
  return Array.from(
    { length: levels },
    (_, nth) => `${names[nth + 1]}: &${names[nth + 1]} [${`*${names[nth]},`.repeat(9)}*${names[nth]}]\n`,
  ).join('');
}
