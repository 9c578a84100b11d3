/**
 * `npm run conformance`: checks a billing service against its specification, the sandbox by default. On a real account it skips
 * the rules that would change data. Exit codes: 0 every rule holds, 1 not, 2 usage, 4 refused credentials, 5 unreachable.
 */

import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { startSandbox } from '../service.ts';
import { collectFindings, type Report, renderReport, summary } from './findings.ts';
import { UnreachableError } from './http.ts';
import { RefusedCredentialsError } from './service.ts';
import { isNamed, RULES, runSuite } from './suite.ts';
import { type OpenContextOptions, openSuiteContext } from './suite-context.ts';

const EXIT = { done: 0, broken: 1, usage: 2, refused: 4, unreachable: 5, bug: 70 } as const;

interface Options {
  readonly baseUrl?: string;
  readonly authUrl?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly apiKey?: string;
  readonly caFile?: string;
  readonly invoice: readonly string[];
  readonly only: readonly string[];
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

class UsageError extends Error {
  override readonly name = 'UsageError';
}

process.exitCode = await main(process.argv);

async function main(argv: readonly string[]): Promise<number> {
  const command = program();
  try {
    await command.parseAsync([...argv]);
    return await run(command.opts<Options>());
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    return explain(error, command.opts<Options>());
  }
}

function program(): Command {
  const collect = (value: string, all: readonly string[]) => [...all, value];
  return new Command('conformance')
    .description('check a billing service against its specification; without options, the sandbox')
    .option('--base-url <url>', 'base address of the API of a real account')
    .option('--auth-url <url>', 'base address of its authorization server (the base URL)')
    .option('--client-id <id>', 'OAuth client id (BILLSYNC_CLIENT_ID)')
    .option(
      '--client-secret <secret>',
      'OAuth client secret (BILLSYNC_CLIENT_SECRET, BILLSYNC_CLIENT_SECRET_FILE)',
    )
    .option('--api-key <key>', 'API key, to find the header that takes it (BILLSYNC_API_KEY)')
    .option('--ca-file <file>', 'further CA to trust')
    .option('--invoice <id>', 'finalized invoice that may be read; repeatable', collect, [])
    .option('--only <rule>', 'section (6, 6.7) or id of the rules to check; repeatable', collect, [])
    .option('--json', 'print one JSON document')
    .option('--quiet', 'no progress')
    .option('--verbose', 'show the stack of an error')
    .addHelpText(
      'after',
      '\nExample:\n  npm run conformance -- --base-url https://api.example.com --client-id ID --invoice UUID',
    )
    .exitOverride();
}

async function run(options: Options): Promise<number> {
  const unknown = options.only.filter((name) => !RULES.some((rule) => isNamed(rule, name)));
  if (unknown.length > 0) throw new UsageError(`Unknown rule: ${unknown.join(', ')}; the report lists them.`);
  const own = options.baseUrl === undefined ? await startOwn(options) : null;
  try {
    const report = await checkContext(own?.options ?? realAccount(options), options);
    print(report, options);
    return report.rows.some(({ verdict }) => verdict === 'fail') ? EXIT.broken : EXIT.done;
  } finally {
    await own?.close();
  }
}

/** One sandbox with the lifetimes of the specification, and one whose tokens and URLs expire while a rule waits. */
async function startOwn(options: Options) {
  const stray = (['authUrl', 'clientId', 'clientSecret', 'caFile'] as const).filter((name) => options[name]);
  if (stray.length > 0) throw new UsageError(`${stray.join(', ')} need --base-url.`);
  const short = { tokenLifetimeSeconds: 2, urlLifetimeSeconds: 2 };
  const [target, shortLived] = await Promise.all([
    startSandbox(),
    startSandbox({ ...short, wirePrefix: 'service', partnerKind: 'enterprise' }),
  ]);
  // The credentials of production are left out, because the suite tries those of the test account there.
  const { baseUrl, authUrl } = target.production;
  return {
    options: { target, shortLived, otherEnvironment: { baseUrl, authUrl } },
    close: () => Promise.all([target.close(), shortLived.close()]),
  };
}

async function checkContext(where: OpenContextOptions, options: Options): Promise<Report> {
  const { context, close } = await openSuiteContext({
    ...where,
    invoiceIds: options.invoice,
  });
  try {
    let checked = 0;
    const rows = await runSuite(context, {
      only: options.only,
      onRow: ({ verdict, section, rule, seen }) => {
        checked += 1;
        if (options.quiet === true) return;
        if (verdict === 'fail') process.stderr.write(`broken: ${section} ${rule}: ${seen}\n`);
        if (checked % 25 === 0) process.stderr.write(`${checked} rules checked …\n`);
      },
    });
    return { service: context.service.baseUrl, rows, findings: await collectFindings(context) };
  } finally {
    await close();
  }
}

function realAccount(options: Options): OpenContextOptions {
  const { env } = process;
  const clientId = options.clientId ?? env.BILLSYNC_CLIENT_ID;
  const clientSecret =
    options.clientSecret ?? env.BILLSYNC_CLIENT_SECRET ?? fromFile(env.BILLSYNC_CLIENT_SECRET_FILE);
  const baseUrl = address('--base-url', options.baseUrl);
  if (clientId === undefined || clientSecret === undefined) {
    throw new UsageError('--client-id and --client-secret are required beside --base-url.');
  }
  return {
    target: {
      baseUrl,
      authUrl: options.authUrl === undefined ? baseUrl : address('--auth-url', options.authUrl),
      clientId,
      clientSecret,
      apiKey: options.apiKey ?? env.BILLSYNC_API_KEY ?? null,
      caPem: fromFile(options.caFile) ?? null,
      adminUrl: null,
    },
  };
}

function address(flag: string, text: string | undefined): string {
  if (text === undefined || !URL.canParse(text) || new URL(text).protocol !== 'https:') {
    throw new UsageError(`${flag} has to be an https URL.`);
  }
  return text.replace(/\/+$/, '');
}

function fromFile(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function print({ service, rows, findings }: Report, { json, quiet }: Options): void {
  if (json === true) {
    process.stdout.write(`${JSON.stringify({ service, rows, findings }, null, 2)}\n`);
    if (quiet !== true) process.stderr.write(`${summary(rows)}\n`);
    return;
  }
  process.stdout.write(renderReport({ service, rows, findings }, process.stdout.isTTY === true));
}

function explain(error: unknown, { verbose }: Options): number {
  const known = error instanceof Error ? error : new Error(String(error));
  process.stderr.write(`conformance: ${known.message}\n`);
  if (verbose === true) process.stderr.write(`${known.stack ?? ''}\n`);
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof RefusedCredentialsError) return EXIT.refused;
  return error instanceof UnreachableError ? EXIT.unreachable : EXIT.bug;
}
