/**
 * Parses a delivery once where the door and the forwarder see the same bytes a moment apart. The forwarder still reads them
 * from disk: what was parsed is used again only for exactly those bytes, so a change on disk is never overlooked.
 */

import { type ParseDeliveryOptions, type ParsedDelivery, parseDelivery } from '../lib/wire/parse-delivery.ts';

interface Parsed {
  readonly body: Buffer;
  readonly options: ParseDeliveryOptions;
  readonly parsed: ParsedDelivery;
}

/** More than the forwarder has under way at a time; a backlog is parsed again, from disk. */
const MOST = 64;
/** Usual deliveries have 2 KB; what is remembered must not depend on what strangers send. */
const MOST_BYTES = 64 * 1024;

const remembered: Parsed[] = [];

/** As `parseDelivery`. What it answers is shared: nobody may change it. */
export function parseOnce(bytes: Uint8Array, options: ParseDeliveryOptions): ParsedDelivery {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = remembered.findIndex((known) => isSame(known.options, options) && known.body.equals(body));
  const [known] = at < 0 ? [] : remembered.splice(at, 1);
  if (known !== undefined) return known.parsed;
  const parsed = parseDelivery(body, options);
  if (parsed.kind === 'event' && body.length <= MOST_BYTES) {
    // A copy: what is compared later must be what was parsed, whoever uses these bytes again meanwhile.
    remembered.push({ body: Buffer.from(body), options, parsed });
    if (remembered.length > MOST) remembered.shift();
  }
  return parsed;
}

function isSame(one: ParseDeliveryOptions, other: ParseDeliveryOptions): boolean {
  return one.wirePrefix === other.wirePrefix && one.partnerId === other.partnerId;
}
