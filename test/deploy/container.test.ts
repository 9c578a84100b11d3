/** The image and the composition, held against the program that they run. `npm run try:container` runs the image for real. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { VERBS } from '../../cli/verbs.ts';
import { SETTING_DEFINITIONS } from '../../lib/config/setting-definitions.ts';
import { testFolder } from '../support/folders.ts';
import { listen } from '../support/listen.ts';

const root = join(import.meta.dirname, '../..');
const read = (file: string) => readFile(join(root, file), 'utf8');

/** Instructions with their continuation lines, of all stages in order. */
async function instructions(): Promise<readonly { readonly name: string; readonly rest: string }[]> {
  const lines = (await read('Containerfile')).split('\n').filter((line) => !line.startsWith('#'));
  const joined = lines.join('\n').replaceAll(/\\\n\s*/g, ' ');
  return joined
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
      return { name, rest };
    });
}

async function stage(name: string) {
  const all = await instructions();
  const start = all.findIndex((step) => step.name === 'FROM' && step.rest.endsWith(` AS ${name}`));
  const end = all.findIndex((step, index) => index > start && step.name === 'FROM');
  return all.slice(start, end === -1 ? undefined : end);
}

describe('the Containerfile', () => {
  test('runs without root and writes to its volumes only', async () => {
    const steps = await stage('billsync');
    const rest = (name: string) => steps.filter((step) => step.name === name).map((step) => step.rest);
    expect(rest('USER')).toEqual(['10001:10001']);
    expect(rest('VOLUME')).toEqual(['["/var/lib/billsync", "/tmp"]']);
    expect(rest('STOPSIGNAL')).toEqual(['SIGTERM']);
    expect(rest('HEALTHCHECK')[0]).toContain('/opt/billsync/deploy/container/healthcheck.mjs');
    expect(rest('EXPOSE')).toEqual([`${portOf('BILLSYNC_WEBHOOK_PORT')} ${portOf('BILLSYNC_ADMIN_PORT')}`]);
    expect(steps.map((step) => step.rest).join('\n')).not.toMatch(/pip|apt-get|npm (ci|install)/);
    expect((await stage('packages')).map((step) => step.rest).join('\n')).toContain('npm ci --omit=dev');
  });
});

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly [key: string]: unknown;
}

const compose = parse(await read('compose.yaml'), { merge: true, maxAliasCount: -1 }) as {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
};
const ours = ['endpoint', 'worker', 'dashboard', 'trial'];

describe('compose.yaml', () => {
  test('runs existing commands with a read-only root and no rights', () => {
    for (const name of ours) {
      const service = compose.services[name];
      expect(VERBS.map((verb) => verb.name)).toContain(service?.command?.[0]);
      expect(service).toMatchObject({
        ...{ read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
        // A little more than a role takes to drain.
        stop_grace_period: '70s',
        // Options belong to their path: a comma in a list of YAML's short form would begin a path of its own.
        tmpfs: [expect.stringMatching(/^\/tmp:size=\w+,mode=1777$/)],
      });
    }
  });

  test('sets existing settings, and every secret by file', () => {
    const known = new Set(
      SETTING_DEFINITIONS.flatMap(({ variable, secret }) => (secret ? [`${variable}_FILE`] : [variable])),
    );
    for (const name of ours) {
      const { environment = {}, secrets = [] } = compose.services[name] ?? { image: '' };
      const unknown = Object.keys(environment).filter(
        (variable) => variable.startsWith('BILLSYNC_') && !known.has(variable),
      );
      expect(unknown).toEqual([]);
      const files = Object.values(environment).flatMap(
        (value) => /^\/run\/secrets\/(\w+)$/.exec(value)?.[1] ?? [],
      );
      expect(files.toSorted()).toEqual([...secrets].toSorted());
    }
    const handed = Object.values(compose.services).flatMap(({ secrets = [] }) => secrets);
    expect(new Set(handed)).toEqual(new Set(Object.keys(compose.secrets)));
  });

  test('opens ports to the host only of services that have a network with a way out', () => {
    for (const [name, { ports, networks }] of Object.entries(compose.services)) {
      const ways = (networks as readonly string[]).filter(
        (each) => compose.networks[each]?.internal !== true,
      );
      if (ports !== undefined) expect(ways, name).not.toEqual([]);
    }
  });
});

describe('the health check', () => {
  test('passes while the role of its own container answers', async () => {
    const dataDir = testFolder();
    const server = createServer((request, response) =>
      response.writeHead(request.url === '/livez' ? 200 : 404).end(),
    );
    const port = await listen(server);
    const check = async () => {
      const script = join(root, 'deploy/container/healthcheck.mjs');
      const child = spawn(process.execPath, [script], { env: { BILLSYNC_DATA_DIR: dataDir } });
      return (await once(child, 'exit'))[0] as number;
    };
    await mkdir(join(dataDir, 'run'));
    const leave = (role: string, addresses: object) =>
      writeFile(join(dataDir, 'run', `${role}.json`), JSON.stringify({ role, addresses }));
    await leave('worker', { dashboard: 'http://127.0.0.1:9/' });
    expect(await check()).toBe(1);
    await leave('webhook', { webhook: 'http://127.0.0.1:1/', probes: `http://0.0.0.0:${port}/` });
    expect(await check()).toBe(0);
    server.close();
    expect(await check()).toBe(1);
  });
});

function portOf(variable: string): string {
  return SETTING_DEFINITIONS.find((definition) => definition.variable === variable)?.default ?? '';
}
