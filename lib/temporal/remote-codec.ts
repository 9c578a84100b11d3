/** Decrypts payloads for Temporal's own pages and its command, which ask for it over HTTP ("remote codec"): JSON with bytes in base64. */

import type { Payload } from '@temporalio/common';
import { z } from 'zod';
import { createCodec, type EncryptionKey } from './codec.ts';

const Message = z.object({
  payloads: z.array(
    z.object({
      metadata: z.record(z.string(), z.base64()).optional(),
      data: z.base64().nullish(),
    }),
  ),
});

export type RemotePayloads = z.infer<typeof Message>;

/**
 * What is not ours, and what no key of ours fits, comes back as it was: one page of Temporal's shows payloads of several ages and
 * makers, and asks for all of them at once.
 *
 * @returns null when `message` is none
 */
export async function decodeForTemporalsPages(
  keys: readonly EncryptionKey[],
  message: unknown,
): Promise<RemotePayloads | null> {
  const parsed = Message.safeParse(message);
  if (!parsed.success) return null;
  const codec = createCodec(keys);
  const payloads = parsed.data.payloads.map(async (remote) => {
    const payload = fromRemote(remote);
    // A context, so that clear text is an error here and not replaced.
    const [decoded] = await codec.decode([payload], ANYBODYS).catch(() => [payload]);
    return decoded === undefined || decoded === payload ? remote : toRemote(decoded);
  });
  return { payloads: await Promise.all(payloads) };
}

const ANYBODYS = { type: 'workflow', namespace: '', workflowId: '' } as const;

type Remote = RemotePayloads['payloads'][number];

function fromRemote({ metadata, data }: Remote): Payload {
  return {
    metadata: eachOf(metadata, (text) => Buffer.from(text, 'base64')),
    data: Buffer.from(data ?? '', 'base64'),
  };
}

function toRemote({ metadata, data }: Payload): Remote {
  return { metadata: eachOf(metadata ?? {}, inBase64), data: inBase64(data ?? new Uint8Array()) };
}

function inBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

function eachOf<From, To>(
  values: Readonly<Record<string, From>> | undefined,
  change: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(values ?? {}).map(([name, value]) => [name, change(value)]));
}
