/** The connections that calls go over: guarded, through a proxy where one is set, with our certificate for our service. */

import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { readAuthorities, readCertificatePair } from '../lib/config/certificate-files.ts';
import type { Settings } from '../lib/config/settings.ts';
import { checkTarget, type GuardRules, guardedConnector } from './address-guard.ts';
import { NotConfiguredError } from './errors.ts';
import { isListedHost } from './host-list.ts';
import { ProxyConnections } from './proxy-connections.ts';

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

export interface Dispatchers {
  /** @throws AddressRefusedError, HostNotAllowedError for what a proxy must not dial for us either */
  dispatcherFor(url: URL): Promise<Dispatcher>;
  close(): Promise<void>;
}

export const CONNECT_TIMEOUT_MS = 10_000;
/** Storage may take a while to the first byte of a large object; a total deadline rules above this. */
export const HEADERS_TIMEOUT_MS = 60_000;
/** Of no use to a proxy: it would reach itself. */
const NEVER_BY_PROXY = ['localhost', '127.0.0.1', '[::1]'];

/** @throws NotConfiguredError a certificate without its key; Error a file that cannot be read */
export function createDispatchers(options: ConnectionOptions): Dispatchers {
  const { baseUrl, authUrl, downloadHosts, allowPrivateHosts, httpsProxy, httpProxy, noProxy } = options;
  const own = new Set([baseUrl, authUrl].flatMap((url) => (url === null ? [] : [new URL(url).host])));
  const rules: GuardRules = {
    allowPrivateHosts,
    mayUsePort: (host) => own.has(host) || isListedHost(`https://${host}`, downloadHosts),
  };
  const direct = (noProxy ?? '').split(/[,\s]+/);
  // undici takes the wildcard only where it stands alone.
  const isProxied = (httpsProxy ?? httpProxy) !== null && !direct.includes('*');

  function open(secureContext: SecureContext | null): Dispatcher {
    const tls = secureContext === null ? {} : { secureContext };
    const common = {
      connect: guardedConnector({ ...tls, timeout: CONNECT_TIMEOUT_MS }, rules),
      connections: options.connectionsPerHost,
      headersTimeout: HEADERS_TIMEOUT_MS,
      bodyTimeout: HEADERS_TIMEOUT_MS,
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
      // The proxy is where a setting says, so its address is not checked.
      proxyTls: { ...withSecureContext(trust(options)), timeout: CONNECT_TIMEOUT_MS },
    });
  }

  const strangers = open(trust(options));
  // A stranger such as storage does not learn who we are.
  const service =
    options.clientCert === null && options.clientKey === null ? strangers : open(identity(options));
  return {
    async dispatcherFor(url) {
      if (isProxied) await checkTarget(url, rules);
      return own.has(url.host) ? service : strangers;
    },
    async close() {
      await Promise.all([...new Set([strangers, service])].map((dispatcher) => dispatcher.destroy()));
    },
  };
}

function withSecureContext(secureContext: SecureContext | null) {
  return secureContext === null ? {} : { secureContext };
}

let lastTrust: { readonly ca: string; readonly context: SecureContext } | undefined;

/**
 * One TLS context for all connections, and for the next client that trusts the same: parsing a hundred roots takes 33 ms of
 * processor time, longer than a handshake. null: Node's own.
 */
function trust({ caFile }: Pick<ConnectionOptions, 'caFile'>): SecureContext | null {
  if (caFile === null) return null;
  const all = authorities(caFile);
  const ca = all.join('\n');
  if (lastTrust?.ca !== ca) lastTrust = { ca, context: createSecureContext({ ca: all }) };
  return lastTrust.context;
}

function identity({ caFile, clientCert, clientKey }: ConnectionOptions): SecureContext {
  if (clientCert === null || clientKey === null) {
    throw new NotConfiguredError([clientCert === null ? 'BILLSYNC_CLIENT_CERT' : 'BILLSYNC_CLIENT_KEY']);
  }
  const { cert, key } = readCertificatePair(
    { setting: 'BILLSYNC_CLIENT_CERT', path: clientCert },
    { setting: 'BILLSYNC_CLIENT_KEY', path: clientKey },
  );
  const own = { cert, key };
  return createSecureContext(caFile === null ? own : { ...own, ca: authorities(caFile) });
}

function authorities(caFile: string): string[] {
  const extra = process.env.NODE_EXTRA_CA_CERTS;
  const files = [{ setting: 'BILLSYNC_CA_FILE', path: caFile }];
  if (extra !== undefined && extra !== '') files.push({ setting: 'NODE_EXTRA_CA_CERTS', path: extra });
  return [...rootCertificates, ...files.map(readAuthorities)];
}
