/** Commands in documents work: each is one that billsync has, and the tutorial's commands are run unchanged. */

import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharedOptions } from '../../cli/verb.ts';
import { VERBS } from '../../cli/verbs.ts';
import { eventually } from '../support/eventually.ts';
import { testFolder } from '../support/folders.ts';
import { type RunningRole, startRole } from '../support/processes/billsync.ts';
import { runCommand } from '../support/processes/run-command.ts';
import { publishedStates } from '../support/published-data.ts';

const root = join(import.meta.dirname, '..', '..');
const TUTORIAL = 'docs/tutorial/first-day.md';
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
})
  .toString('utf8')
  .split('\n')
  .filter((path) => path !== '' && !/^(docs\/(reference\/(?!runbook)|adr\/)|sandbox\/)/.test(path));

describe('commands in documents', () => {
  test('exist with their options', async () => {
    const program = new Command('billsync');
    for (const option of sharedOptions()) program.addOption(option);
    for (const { load } of VERBS) program.addCommand(await load());
    const wrong: string[] = [];
    for (const page of pages) {
      for (const line of commandsIn(await readFile(join(root, page), 'utf8'))) {
        const problem = problemOf(program, line.split(/\s+/).slice(1));
        if (problem !== null) wrong.push(`${page}: ${line}: ${problem}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('the tutorial', () => {
  let dataDir: string;
  let up: RunningRole;
  const env = () => ({ BILLSYNC_DATA_DIR: dataDir, BILLSYNC_ADMIN_PORT: '0', BILLSYNC_WEBHOOK_PORT: '0' });

  beforeAll(async () => {
    dataDir = testFolder();
    up = await startRole(['up', '--sandbox'], { env: env() });
  });
  afterAll(() => up?.end('SIGTERM'));

  test('runs as written and gives the documented results', async () => {
    const blocks = blocksIn(await readFile(join(root, TUTORIAL), 'utf8'));
    const [first, ...others] = blocks.map(({ line }) => line);
    expect(first).toBe('billsync up --sandbox');
    expect(others.length).toBeGreaterThan(6);
    const failed: string[] = [];
    for (const { line, placeholder } of blocks.slice(1)) {
      const args = line
        .replaceAll(/[A-Z]+_[A-Z]+/g, placeholder === null ? '' : await valueFor(placeholder))
        .split(' ');
      const { exitCode, stderr } = await runCommand(args.slice(1), { env: env() });
      if (exitCode !== 0) failed.push(`${line}: ${exitCode}\n${stderr}`);
      if (line.startsWith('billsync sandbox seed')) await untilLoaded();
    }
    expect(failed).toEqual([]);
  });

  async function valueFor(command: string): Promise<string> {
    const { stdout } = await runCommand(command.split(' ').slice(1), { env: env() });
    const [row] = JSON.parse(stdout) as readonly { readonly tracking_number: string }[];
    return row?.tracking_number ?? 'none';
  }

  async function untilLoaded(): Promise<void> {
    // The published file is polled first; commands run once all is loaded.
    await eventually(
      () => publishedStates(dataDir),
      (states) => states.size > 20 && ![...states.values()].includes('finalized'),
    );
    await eventually(
      async () => {
        const { stdout } = await runCommand(['report', 'duplicates', '--json'], { env: env() });
        const { stdout: listed } = await runCommand(['invoices', 'list', '--json'], { env: env() });
        const states = (JSON.parse(listed) as readonly { readonly state: string }[]).map(
          ({ state }) => state,
        );
        return { duplicates: JSON.parse(stdout) as readonly unknown[], states };
      },
      ({ duplicates, states }) =>
        duplicates.length > 0 && states.length > 20 && !states.includes('finalized'),
    );
  }
});

interface Block {
  readonly line: string;
  /** The command whose first row has what the line leaves open. */
  readonly placeholder: string | null;
}

/** The lines of `sh` blocks, each with the comment right above its block. */
function blocksIn(text: string): readonly Block[] {
  return [...text.matchAll(/(?:<!-- [A-Z]+_[A-Z]+: (.+?) -->\s*)?^ *```sh\n([\s\S]*?)^ *```/gm)].flatMap(
    ([, placeholder, body = '']) =>
      body
        .split('\n')
        .map((line) => line.replace(/\s+#.*$/, '').trim())
        .filter((line) => /^(bin\/)?billsync /.test(line))
        .map((line) => ({ line, placeholder: placeholder ?? null })),
  );
}

function commandsIn(text: string): readonly string[] {
  const inText = [...text.matchAll(/`((?:bin\/)?billsync [^`]+)`/g)].map(([, command = '']) => command);
  const inBlocks = [...text.matchAll(/^ *```(?:sh)?\n([\s\S]*?)^ *```/gm)].flatMap(([, body = '']) =>
    body
      .split('\n')
      .map((line) => line.replace(/\s+#.*$/, '').trim())
      .filter((line) => /^(bin\/)?billsync /.test(line)),
  );
  return [...inText, ...inBlocks].map((command) => command.replace(/\s+/g, ' '));
}

function problemOf(program: Command, args: readonly string[]): string | null {
  let command = program;
  let rest = [...args];
  for (let child = childOf(command, rest[0]); child !== undefined; child = childOf(command, rest[0])) {
    command = child;
    rest = rest.slice(1);
  }
  const [next = ''] = rest;
  if (command === program && next !== '' && !next.startsWith('-') && !/^[A-Z]/.test(next))
    return `no verb ${next}`;
  if (command.commands.length > 0 && /^[a-z]+$/.test(next)) return `${command.name()} has no ${next}`;
  const known = [...command.options, ...program.options].map(({ long }) => long);
  const unknown = rest
    .filter((arg) => arg.startsWith('--'))
    .map((arg) => arg.replace(/[=\])].*$/, ''))
    .filter((arg) => !['--help', '--version'].includes(arg) && !known.includes(arg));
  return unknown.length === 0 ? null : `no option ${unknown.join(', ')}`;
}

function childOf(command: Command, arg: string | undefined): Command | undefined {
  return command.commands.find((child) => arg !== undefined && arg.split(/[|[]/)[0] === child.name());
}
