import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { readAuthorities, readCertificatePair } from '../lib/config/certificate-files.ts';
import type { Settings } from '../lib/config/settings.ts';
import { systemCode } from '../lib/system-errors.ts';
import { checkTarget, type GuardRules, guardedConnector, isListedHost } from './address-guard.ts';
import { BillingError, proxyError } from './errors.ts';

export interface ConnectionOptions
  extends Pick<
    Settings['service'],
    | 'baseUrl'
    | 'authUrl'
    | 'caFile'
    | 'clientCert'
    | 'clientKey'
    | 'downloadHosts'
    | 'allowPrivateHosts'
    | 'httpsProxy'
    | 'httpProxy'
    | 'noProxy'
  > {
  readonly connectionsPerHost: number;
}

export const CONNECT_TIMEOUT_MS = 10_000;
export const HEADERS_TIMEOUT_MS = 60_000;
/** Node's default of 16 KiB is less than gateways with many cookies or policies send. */
export const MAX_HEADERS_BYTES = 64 * 1024;
/** These hosts are never reached by a proxy, which would reach itself. */
const NEVER_BY_PROXY = ['localhost', '127.0.0.1', '[::1]'];

/** @throws BillingError a certificate without its key; Error a file that cannot be read */
export function createDispatchers(options: ConnectionOptions) {
  const { baseUrl, authUrl, downloadHosts, allowPrivateHosts, httpsProxy, httpProxy, noProxy } = options;
  const own = new Set([baseUrl, authUrl].flatMap((url) => (url === null ? [] : [new URL(url).host])));
  const rules: GuardRules = {
    allowPrivateHosts,
    mayUsePort: (host) => own.has(host) || isListedHost(`https://${host}`, downloadHosts),
  };
  const direct = (noProxy ?? '').split(/[,\s]+/);
  // undici accepts the wildcard `*` only as the whole list, so it is handled here.
  const isProxied = (httpsProxy ?? httpProxy) !== null && !direct.includes('*');

  function open(tls: Tls): Dispatcher {
    const common = {
      connect: guardedConnector({ ...tls, timeout: CONNECT_TIMEOUT_MS }, rules),
      connections: options.connectionsPerHost,
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: HEADERS_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADERS_BYTES,
      keepAliveTimeout: 4_000,
    };
    if (!isProxied) return new Agent(common);
    return new EnvHttpProxyAgent({
      ...common,
      httpsProxy: httpsProxy ?? httpProxy ?? '',
      httpProxy: httpProxy ?? '',
      noProxy: [...direct, ...NEVER_BY_PROXY].join(','),
      clientFactory: (proxy, options) =>
        new ProxyConnections(proxy, { ...options, headersTimeout: CONNECT_TIMEOUT_MS }),
      requestTls: { ...tls, timeout: CONNECT_TIMEOUT_MS },
      // The address of the proxy comes from a setting and is not checked.
      proxyTls: { ...trustedContext(options), timeout: CONNECT_TIMEOUT_MS },
    });
  }

  const others = open(trustedContext(options));
  const service =
    options.clientCert === null && options.clientKey === null ? others : open(clientContext(options));
  return {
    /** @throws BillingError for an address that a proxy must not dial for us either */
    async dispatcherFor(url: URL): Promise<Dispatcher> {
      if (isProxied) await checkTarget(url, rules);
      return own.has(url.host) ? service : others;
    },
    async close(): Promise<void> {
      await Promise.all([...new Set([others, service])].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

/** The context of TLS; without one, Node's default is used. */
type Tls = { readonly secureContext?: SecureContext };

let lastTrust: { readonly ca: string; readonly secureContext: SecureContext } | undefined;

/** The context is cached, because parsing a hundred roots takes longer than a handshake. */
function trustedContext({ caFile }: Pick<ConnectionOptions, 'caFile'>): Tls {
  if (caFile === null) return {};
  const all = authorities(caFile);
  const ca = all.join('\n');
  if (lastTrust?.ca !== ca) lastTrust = { ca, secureContext: createSecureContext({ ca: all }) };
  return { secureContext: lastTrust.secureContext };
}

function clientContext({ caFile, clientCert, clientKey }: ConnectionOptions): Tls {
  if (clientCert === null || clientKey === null) {
    throw new BillingError('not-configured', [
      clientCert === null ? 'BILLSYNC_CLIENT_CERT' : 'BILLSYNC_CLIENT_KEY',
    ]);
  }
  const { cert, key } = readCertificatePair(
    { setting: 'BILLSYNC_CLIENT_CERT', path: clientCert },
    { setting: 'BILLSYNC_CLIENT_KEY', path: clientKey },
  );
  const ca = caFile === null ? {} : { ca: authorities(caFile) };
  return { secureContext: createSecureContext({ cert, key, ...ca }) };
}

function authorities(caFile: string): string[] {
  const extra = process.env.NODE_EXTRA_CA_CERTS;
  const files = [{ setting: 'BILLSYNC_CA_FILE', path: caFile }];
  if (extra !== undefined && extra !== '') files.push({ setting: 'NODE_EXTRA_CA_CERTS', path: extra });
  return [...rootCertificates, ...files.map(readAuthorities)];
}

class ProxyConnections extends Pool {
  readonly #host: string;

  constructor(proxy: URL, options: Pool.Options) {
    super(proxy.origin, options);
    this.#host = proxy.host;
  }

  override connect<TOpaque = null>(
    options: Dispatcher.ConnectOptions<TOpaque>,
  ): Promise<Dispatcher.ConnectData<TOpaque>>;
  override connect<TOpaque = null>(
    options: Dispatcher.ConnectOptions<TOpaque>,
    callback: (error: Error | null, data: Dispatcher.ConnectData<TOpaque>) => void,
  ): void;
  override connect(
    options: Dispatcher.ConnectOptions,
    callback?: (error: Error | null, data: Dispatcher.ConnectData) => void,
  ): Promise<Dispatcher.ConnectData> | undefined {
    if (callback === undefined) return this.#tunnel(options);
    super.connect(options, callback);
    return undefined;
  }

  async #tunnel(options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData> {
    const answer = await super.connect(options).catch((error: unknown) => {
      throw proxyError(this.#host, systemCode(error), error);
    });
    if (answer.statusCode === 200) return answer;
    answer.socket.on('error', () => undefined).destroy();
    throw proxyError(this.#host, answer.statusCode, null);
  }
}
