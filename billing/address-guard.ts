/** Keeps requests out of our own network: the address that is dialled is judged, not the text of a URL (hazard 39). */

import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { buildConnector } from 'undici';
import { AddressRefusedError } from './errors.js';

/** Where clouds hand credentials to anybody inside; refused whatever is allowed, as is all of link-local. */
const METADATA_ADDRESSES = new Set(['fd00:ec2::254', '100.100.100.200', '169.254.169.254']);

/** What BILLSYNC_ALLOW_PRIVATE_HOSTS adds to the public internet. */
const PRIVATE_RANGES = new Set(['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']);

/** Whether an IP address may be dialled. IPv6 forms that stand for an IPv4 address are judged as that address. */
export function mayDial(
  address: string,
  { allowPrivateHosts }: { readonly allowPrivateHosts: boolean },
): boolean {
  if (!ipaddr.isValid(address)) return false;
  const meant = meantAddress(ipaddr.process(address));
  if (METADATA_ADDRESSES.has(meant.toString())) return false;
  const range = meant.range();
  return range === 'unicast' || (allowPrivateHosts && PRIVATE_RANGES.has(range));
}

/** A connector for undici that dials only what `mayDial` allows, whether the URL names a host or an address. */
export function guardedConnector(
  options: buildConnector.BuildOptions,
  { allowPrivateHosts }: { readonly allowPrivateHosts: boolean },
): buildConnector.connector {
  const lookup: LookupFunction = (hostname, lookupOptions, callback) => {
    systemLookup(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const refused = addresses.find(({ address }) => !mayDial(address, { allowPrivateHosts }));
      if (refused !== undefined) return callback(new AddressRefusedError(hostname, refused.address), []);
      if (lookupOptions.all === true) return callback(null, addresses);
      const [first] = addresses;
      callback(null, first?.address ?? '', first?.family);
    });
  };
  const connect = buildConnector({ ...options, lookup } as buildConnector.BuildOptions);
  return (target, callback) => {
    // A literal address is dialled without a lookup.
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !mayDial(host, { allowPrivateHosts })) {
      return callback(new AddressRefusedError(target.hostname, host), null);
    }
    connect(target, callback);
  };
}

/** NAT64 (RFC 6052) reaches the IPv4 address in its last 32 bits. */
function meantAddress(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() !== 'ipv6' || address.range() !== 'rfc6052') return address;
  return ipaddr.fromByteArray(address.toByteArray().slice(12));
}
