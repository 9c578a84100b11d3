import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../lib/config/settings.ts';
import { dataFolder } from '../../lib/files/data-folder.ts';
import { replaceFile } from '../../lib/files/files.ts';

export interface RunFile {
  readonly pid: number;
  readonly role: string;
  readonly since: string;
  readonly addresses: Readonly<Record<string, string>>;
  /** The partner of the settings: the partner of the sandbox is in no settings file. */
  readonly partnerId?: string;
}

type Where = Pick<Settings, 'dataDir'>;

export function writeRunFile(
  settings: Where & Pick<Settings, 'partnerId'>,
  role: string,
  addresses: RunFile['addresses'],
): { remove(): void } {
  const path = runFilePath(settings, role);
  const { partnerId } = settings;
  const file: RunFile = {
    pid: process.pid,
    role,
    since: new Date().toISOString(),
    addresses,
    ...(partnerId === null ? {} : { partnerId }),
  };
  replaceFile(path, `${JSON.stringify(file)}\n`);
  return {
    remove() {
      if (readRunFile(settings, role)?.pid === process.pid) rmSync(path, { force: true });
    },
  };
}

export function readRunFile(settings: Where, role: string): RunFile | null {
  try {
    return JSON.parse(readFileSync(runFilePath(settings, role), 'utf8')) as RunFile;
  } catch {
    return null;
  }
}

function runFilePath({ dataDir }: Where, role: string): string {
  return join(dataFolder(dataDir).run, `${role}.json`);
}
