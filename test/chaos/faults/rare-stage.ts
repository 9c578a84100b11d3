/** An `up` with more possible faults: its disk, the answers of the service, its certificate, calls to Temporal. */

import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '../../../lib/config/load-settings.ts';
import { createLogger } from '../../../lib/log/log.ts';
import { connectTemporal, type TemporalConnection } from '../../../lib/temporal/connect.ts';
import { type Lie, startLyingProxy } from '../../sandbox/conformance/lying-proxy.ts';
import { leaveFree, mountSmallDisk } from '../../support/folders.ts';
import { openStage, type Stage } from './play-fault.ts';

export const OPERATOR = 'ann:her password';

export interface RareStage extends Stage {
  lie(lie: Lie | null): void;
  leaveFree(bytes: number): void;
  /** Replaces the endpoint's certificate by one that expires in this many days. */
  certify(days: number): void;
  /** The same for the certificate that billsync presents to the service. */
  certifyClient(days: number): void;
  /** With the keys of the data folder. */
  temporal(): Promise<TemporalConnection>;
}

/** Only root may mount the small disk that this needs. */
export async function openRareStage(): Promise<RareStage & { close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'billsync-rare-'));
  const disk = join(folder, 'disk');
  mkdirSync(disk);
  mountSmallDisk(disk, '2g');
  const dataDir = join(disk, 'data');
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  makeKeyPairs(folder);
  const client = { cert: join(folder, 'client.pem'), key: join(folder, 'client.key') };
  const certifyClient = (days: number) => {
    copyFileSync(join(folder, `${days}.key`), client.key);
    copyFileSync(join(folder, `${days}.pem`), client.cert);
  };
  certifyClient(400);
  const certify = (days: number) => {
    copyFileSync(join(folder, `${days}.key`), files.key);
    copyFileSync(join(folder, `${days}.pem`), files.cert);
  };
  certify(400);
  let lie: Lie | null = null;
  let proxy: Awaited<ReturnType<typeof startLyingProxy>> | null = null;
  const stage = await openStage({
    settings: {
      BILLSYNC_DATA_DIR: dataDir,
      BILLSYNC_OPERATOR_BASIC_AUTH: OPERATOR,
      BILLSYNC_WEBHOOK_TLS_CERT: files.cert,
      BILLSYNC_WEBHOOK_TLS_KEY: files.key,
      BILLSYNC_CLIENT_CERT: client.cert,
      BILLSYNC_CLIENT_KEY: client.key,
    },
    async behind(sandbox) {
      const { origin, pathname } = new URL(sandbox.baseUrl);
      proxy = await startLyingProxy({ url: origin, caPem: sandbox.caPem }, (call, answer) =>
        lie === null ? null : lie(call, answer),
      );
      const caFile = join(folder, 'ca.pem');
      writeFileSync(caFile, `${sandbox.caPem}\n${proxy.caPem}`);
      return { baseUrl: `${proxy.url}${pathname === '/' ? '' : pathname}`, caFile };
    },
    endpointCa: () => readFileSync(files.cert, 'utf8'),
  });
  return {
    ...stage,
    certify,
    certifyClient,
    lie(next) {
      lie = next;
    },
    leaveFree: (bytes) => leaveFree(disk, bytes),
    temporal() {
      const settings = loadSettings({ cwd: folder, env: { BILLSYNC_DATA_DIR: dataDir } });
      return connectTemporal(settings, { log: createLogger(settings, 'test', { write: () => undefined }) });
    },
    async close() {
      await stage.close();
      await proxy?.close();
      execFileSync('umount', ['--lazy', disk]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `400.pem` and `5.pem` with their keys, for 127.0.0.1. */
function makeKeyPairs(folder: string): void {
  for (const days of ['400', '5']) {
    const [key, cert] = [join(folder, `${days}.key`), join(folder, `${days}.pem`)];
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', days],
        ...['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    );
  }
}
