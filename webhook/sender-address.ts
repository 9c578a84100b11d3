/** Who sends: the address of the connection, or the one that a trusted proxy in front of the endpoint tells. */

import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { addressKey, addressOrNull } from '../lib/failed-logins.ts';

export interface SenderAddresses {
  isProxy(address: string | undefined): boolean;
  /** The last address in X-Forwarded-For that is no trusted proxy: what stands before it, the sender may have made up. */
  of(request: IncomingMessage): string;
}

/** @param trusted addresses and networks as the settings give them (BILLSYNC_WEBHOOK_TRUSTED_PROXIES) */
export function createSenderAddresses(trusted: readonly string[]): SenderAddresses {
  const networks = trusted.map((text) => ipaddr.parseCIDR(text));
  const isProxy = (address: string | undefined): boolean => {
    if (networks.length === 0) return false;
    const parsed = addressOrNull(address);
    return (
      parsed !== null &&
      networks.some((network) => network[0].kind() === parsed.kind() && parsed.match(network))
    );
  };
  return {
    isProxy,
    of(request) {
      const peer = request.socket.remoteAddress;
      if (!isProxy(peer)) return addressKey(peer);
      const told = [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').reverse();
      const sender = told.map((address) => address.trim()).find((address) => !isProxy(address));
      return addressKey(addressOrNull(sender) === null ? peer : sender);
    },
  };
}
