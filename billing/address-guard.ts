import { lookup as systemLookup } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { BillingError, hostNotAllowed } from './errors.ts';

/** Addresses of the metadata services of clouds, which hand out credentials. */
const METADATA_ADDRESSES = new Set(['fd00:ec2::254', '100.100.100.200', '169.254.169.254']);

const PRIVATE_RANGES = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']);

const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');

/** IPv6 ranges that embed an IPv4 address: v4-compatible and NAT64 (RFC 4291, 6052); ipaddr.js handles v4-mapped. */
const IPV4_EMBEDDING = ['::/96', '64:ff9b::/96'].map((range) => ipaddr.parseCIDR(range));

export interface GuardRules {
  readonly allowPrivateHosts: boolean;
  /** Decides on a port other than 443 of a public host; the argument is host and port. */
  readonly mayUsePort?: (host: string) => boolean;
}

export function mayDial(
  address: string,
  { allowPrivateHosts }: Pick<GuardRules, 'allowPrivateHosts'>,
): boolean {
  const kind = kindOf(address);
  return kind === 'public' || (kind === 'private' && allowPrivateHosts);
}

export function guardedConnector(
  options: buildConnector.BuildOptions,
  rules: GuardRules,
): buildConnector.connector {
  const connectorFor = (isOddPort: boolean) => {
    const lookupAndCheck: LookupFunction = (hostname, lookupOptions, callback) => {
      systemLookup(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
        if (error !== null) return callback(error, []);
        const refusal = refusalOf(hostname, { addresses, isOddPort }, rules);
        if (refusal !== null) return callback(refusal, []);
        if (lookupOptions.all === true) return callback(null, addresses);
        const [first] = addresses;
        callback(null, first?.address ?? '', first?.family);
      });
    };
    return buildConnector({ ...options, lookup: lookupAndCheck } as buildConnector.BuildOptions);
  };
  const [connect, connectToOddPort] = [connectorFor(false), connectorFor(true)];
  return (target, callback) => {
    const isOddPort = isOdd(target, rules);
    const address = literalOf(target.hostname);
    const refusal =
      address === null ? null : refusalOf(target.hostname, { addresses: [{ address }], isOddPort }, rules);
    if (refusal !== null) return callback(refusal, null);
    (isOddPort ? connectToOddPort : connect)(target, callback);
  };
}

/** For a target that a proxy will dial; a name that only the proxy resolves is not checked. @throws BillingError */
export async function checkTarget(url: URL, rules: GuardRules): Promise<void> {
  const literal = literalOf(url.hostname);
  const addresses =
    literal === null ? await lookup(url.hostname, { all: true }).catch(() => []) : [{ address: literal }];
  const refusal = refusalOf(url.hostname, { addresses, isOddPort: isOdd(url, rules) }, rules);
  if (refusal !== null) throw refusal;
}

interface Dialled {
  readonly addresses: readonly { readonly address: string }[];
  readonly isOddPort: boolean;
}

function refusalOf(
  hostname: string,
  { addresses, isOddPort }: Dialled,
  { allowPrivateHosts }: GuardRules,
): Error | null {
  const refused = addresses.find(({ address }) => !mayDial(address, { allowPrivateHosts }));
  if (refused !== undefined) {
    return new BillingError('address-refused', [hostname, refused.address]);
  }
  const isPublic = addresses.some(({ address }) => kindOf(address) === 'public');
  return isOddPort && (isPublic || addresses.length === 0) ? hostNotAllowed(hostname, 'port') : null;
}

function isOdd(
  { hostname, port }: { readonly hostname: string; readonly port: string },
  { mayUsePort = () => false }: GuardRules,
): boolean {
  return port !== '' && port !== '443' && !mayUsePort(`${hostname.toLowerCase()}:${port}`);
}

function literalOf(hostname: string): string | null {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 ? null : host;
}

function kindOf(text: string): 'public' | 'private' | 'refused' {
  if (!ipaddr.isValid(text)) return 'refused';
  const address = ipaddr.process(text);
  const kinds = [address, ...embeddedIn(address)].map(kindOfOne);
  if (kinds.includes('refused')) return 'refused';
  return kinds.includes('private') ? 'private' : 'public';
}

function kindOfOne(address: ipaddr.IPv4 | ipaddr.IPv6): 'public' | 'private' | 'refused' {
  // The embedded address is checked instead; :: and ::1 embed none.
  if (embedsIpv4(address)) return 'public';
  const range = address.range();
  if (METADATA_ADDRESSES.has(address.toString())) return 'refused';
  if (PRIVATE_RANGES.has(range)) return 'private';
  // 6to4 and Teredo are inside 2000::/3 but have ranges of their own.
  const isGlobal = address.kind() === 'ipv4' || (address as ipaddr.IPv6).match(GLOBAL_UNICAST as never);
  return range === 'unicast' && isGlobal ? 'public' : 'refused';
}

/** ISATAP's form (RFC 5214) is among them; its prefix is checked as well. */
function embeddedIn(address: ipaddr.IPv4 | ipaddr.IPv6): readonly ipaddr.IPv4[] {
  if (address.kind() === 'ipv4') return [];
  const { parts } = address as ipaddr.IPv6;
  const isIsatap = ((parts[4] ?? 0) & ~0x0200) === 0 && parts[5] === 0x5efe;
  if (!embedsIpv4(address) && !isIsatap) return [];
  return [ipaddr.fromByteArray(address.toByteArray().slice(12)) as ipaddr.IPv4];
}

function embedsIpv4(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.kind() === 'ipv4') return false;
  const text = address.toString();
  if (text === '::' || text === '::1') return false;
  return IPV4_EMBEDDING.some((range) => (address as ipaddr.IPv6).match(range as never));
}

/**
 * The authority is everything up to the first of `/?#\`, as browsers read a URL; a user, white space and control characters are
 * refused.
 */
const HTTPS_URL = /^https:\/\/([^\s\p{Cc}/?#\\@]+)([/?][^#]*)?(?:#.*)?$/isu;
/** RFC 9112 allows no other characters in a request line. */
const UNSENDABLE = /[^\x21-\x7e]+/gu;

/**
 * Host and port are those of the parsed URL, which is what every check reads. The path is the text as given, since a presigned URL
 * is signed as text and parsing would rewrite `'`, `..` and `%2e`. @throws BillingError for anything but an https URL of this form
 */
export function targetOf(text: string): Target {
  const target = parseTarget(text);
  if (target === null) throw hostNotAllowed(URL.parse(text)?.host ?? 'unknown host', 'not-https');
  return target;
}

interface Target {
  readonly url: URL;
  readonly path: string;
}

function parseTarget(text: string): Target | null {
  const [, authority, path = '/'] = HTTPS_URL.exec(text) ?? [];
  const url = authority === undefined ? null : URL.parse(`https://${authority}`);
  if (url === null) return null;
  const sent = path.toWellFormed().replaceAll(UNSENDABLE, encodeURIComponent);
  return { url, path: sent.startsWith('/') ? sent : `/${sent}` };
}

/**
 * An entry is a host (`files.example.com`) or all hosts below one (`.example.com`), either with `:port` (443 without) and with the
 * beginning of the path (`host/bucket/`), which is compared with the text that is sent.
 */
export function isListedUrl(url: string, entries: readonly string[]): boolean {
  const path = parseTarget(url)?.path.split('?')[0] ?? '';
  const mayLeave =
    path.split('/').some((part) => /^(?:\.|%2e){1,2}$/i.test(part)) || /%2f|%5c|\\/i.test(path);
  return isListedHost(
    url,
    entries.filter((entry) => {
      const prefix = prefixOf(entry);
      return prefix === '' || (!mayLeave && path.startsWith(prefix));
    }),
  );
}

function prefixOf(entry: string): string {
  const slash = entry.indexOf('/');
  return slash < 0 ? '' : entry.slice(slash);
}

/** Whether the URL's host is on the list, whatever its path is. */
export function isListedHost(url: string, entries: readonly string[]): boolean {
  const target = parseTarget(url);
  if (target === null) return false;
  const { hostname, port } = target.url;
  return entries.some((entry) => {
    const host = entry.slice(0, entry.length - prefixOf(entry).length);
    const [, name = '', entryPort = ''] = /^(.*?)(?::(\d+))?$/.exec(host.trim().toLowerCase()) ?? [];
    if ((entryPort === '443' ? '' : entryPort) !== port || name === '') return false;
    return name.startsWith('.') ? hostname.endsWith(name) : hostname === name;
  });
}
