import { Command, Option } from 'commander';
import { type Sandbox, type SandboxOptions, startSandbox } from '../service.ts';
import { DataDirLockedError, FolderSettingsError } from '../state/data-folder.ts';
import { decimalNumber, wholeNumber, withoutUndefined } from './arguments.ts';
import { CommandFailure, conclude, dataDirOf, EXIT, namedValues, snakeKeys } from './verb.ts';

interface ServeOptions extends SandboxOptions {
  readonly data?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
  readonly invoices: number;
  readonly tokenLifetime?: number;
  readonly urlLifetime?: number;
  readonly retryDelay?: number;
  readonly deliveryTimeout?: number;
  readonly partner?: SandboxOptions['partnerKind'];
  readonly withoutBilling?: boolean;
}

export function serveCommand(): Command {
  return new Command('serve')
    .description('run the billing service on this machine until SIGINT or SIGTERM')
    .option('--port <port>', 'port of API, admin and page; 0 takes a free one', wholeNumber)
    .option('--storage-port <port>', 'port of object storage; 0 takes a free one', wholeNumber)
    .option('--host <address>', 'address to listen at (127.0.0.1)')
    .option('--admin-open', 'let other machines use the admin API and the page, which show the credentials')
    .option('--without-billing', 'an account without the billing feature: only tokens and ping work')
    .option('--data <dir>', 'folder of state and keys (./sandbox-data, or SANDBOX_DATA_DIR)')
    .option(
      '--seed <number>',
      'seed of ids, credentials, amounts and texts (1, or that of the folder)',
      wholeNumber,
    )
    .option('--invoices <number>', 'number of invoices in a new folder', wholeNumber, 0)
    .option(
      '--wire-prefix <prefix>',
      "maker's prefix of the two id fields (shipium); service is the neutral one",
    )
    .addOption(new Option('--partner <kind>', 'kind of partner (3pl)').choices(['3pl', 'enterprise']))
    .option('--token-lifetime <seconds>', 'expires_in of access tokens (3600)', wholeNumber)
    .option('--url-lifetime <seconds>', 'lifetime of presigned URLs (86400)', decimalNumber)
    .option('--retry-delay <seconds>', 'pause before the one retry of a delivery (5)', decimalNumber)
    .option('--delivery-timeout <seconds>', 'time an endpoint has to answer (30)', decimalNumber)
    .option('--json', 'print the addresses as one line of JSON when ready')
    .option('--verbose', 'show the stack of an error')
    .addHelpText('after', '\nExample:\n  billsync sandbox serve --port 9443 --data ./sandbox-data --json')
    .action((options: ServeOptions) => conclude(options, () => serve(options)));
}

async function serve(options: ServeOptions): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  const sandbox = await start(options);
  if (sandbox.invoices().length === 0 && options.invoices > 0) await sandbox.seedInvoices(options.invoices);
  announce(sandbox, options.json === true);
  warnOfOpenHost(options);
  await stopped;
  await sandbox.close();
}

async function start(options: ServeOptions): Promise<Sandbox> {
  const { host, port, storagePort, seed, wirePrefix } = options;
  const settings: SandboxOptions = withoutUndefined({
    dataDir: dataDirOf(options),
    host,
    port,
    storagePort,
    seed,
    wirePrefix,
    partnerKind: options.partner,
    adminOpen: options.adminOpen,
    hasBilling: options.withoutBilling === true ? false : undefined,
    tokenLifetimeSeconds: options.tokenLifetime,
    urlLifetimeSeconds: options.urlLifetime,
    retryDelayMs: milliseconds(options.retryDelay),
    deliveryTimeoutMs: milliseconds(options.deliveryTimeout),
  });
  try {
    return await startSandbox(settings);
  } catch (error) {
    if (error instanceof DataDirLockedError) {
      throw new CommandFailure(EXIT.locked, [error.message, 'Stop it, or use another folder with --data.']);
    }
    if (error instanceof FolderSettingsError) {
      throw new CommandFailure(EXIT.usage, [
        error.message,
        'Remove the option, or use another folder with --data.',
      ]);
    }
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') {
      throw new CommandFailure(EXIT.locked, [
        (error as Error).message,
        'Use another port with --port, or 0.',
      ]);
    }
    throw error;
  }
}

function announce(sandbox: Sandbox, json: boolean): void {
  const addresses = snakeKeys(sandbox.connection) as Readonly<Record<string, string>>;
  const production = snakeKeys(sandbox.production.connection);
  if (json) process.stdout.write(`${JSON.stringify({ ...addresses, production })}\n`);
  else for (const line of namedValues(sandbox.connection)) process.stderr.write(`${line}\n`);
  process.stderr.write(
    `The sandbox is ready; Ctrl-C stops it. Its page: ${sandbox.pageUrl}\n` +
      'The production account: billsync sandbox connection --production\n',
  );
}

function warnOfOpenHost({ host = '127.0.0.1', adminOpen = false }: ServeOptions): void {
  if (/^(127\.|localhost$|::1$)/.test(host)) return;
  process.stderr.write(
    adminOpen
      ? `Other machines reach the sandbox at ${host}, its credentials and its admin API included.\n`
      : `Other machines reach the API and storage at ${host}; the admin API and the page answer this machine only (--admin-open).\n`,
  );
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.round(seconds * 1_000);
}
