/** By what senders are told apart that are counted: wrong passwords, connections. */

import ipaddr from 'ipaddr.js';

/** What one sender is counted by: an IPv4 address, or the /64 that one line of IPv6 is given as a whole. */
export function addressKey(address: string | undefined): string {
  const parsed = addressOrNull(address);
  if (parsed === null) return 'unknown';
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed.toNormalizedString().split(':').slice(0, 4).join(':')}::/64`;
}

/** null for what is no address; an IPv4 address inside IPv6 is the IPv4 one. */
export function addressOrNull(address: string | undefined): ReturnType<typeof ipaddr.process> | null {
  try {
    return address === undefined ? null : ipaddr.process(address.replace(/%.*$/, ''));
  } catch {
    return null;
  }
}
