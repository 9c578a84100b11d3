import { createHmac } from 'node:crypto';
import { sameSecret } from '../security/tokens.ts';

export interface PresignOptions {
  readonly storageUrl: string;
  readonly signingSecret: string;
  readonly key: string;
  readonly expiresAt: Date;
}

const EXPIRES = 'Expires';
const SIGNATURE = 'Signature';

export function presign({ storageUrl, signingSecret, key, expiresAt }: PresignOptions): string {
  const expires = String(expiresAt.getTime());
  // Digits and hex need no escaping.
  return `${storageUrl}/${key}?${EXPIRES}=${expires}&${SIGNATURE}=${sign(signingSecret, key, expires)}`;
}

/** Returns null when the request may read the object, and otherwise the refusal. */
export function refusePresigned(
  query: Readonly<Record<string, unknown>>,
  { signingSecret, key, now }: { signingSecret: string; key: string; now: Date },
): { code: string; message: string } | null {
  const expires = query[EXPIRES];
  const signature = query[SIGNATURE];
  if (typeof expires !== 'string' || typeof signature !== 'string') {
    return { code: 'AccessDenied', message: 'Access Denied' };
  }
  if (!sameSecret(signature, sign(signingSecret, key, expires))) {
    return {
      code: 'SignatureDoesNotMatch',
      message: 'The signature we calculated does not match the one you gave.',
    };
  }
  if (Number(expires) > now.getTime()) return null;
  return { code: 'AccessDenied', message: 'Request has expired' };
}

function sign(signingSecret: string, key: string, expires: string): string {
  return createHmac('sha256', signingSecret).update(`GET\n/${key}\n${expires}`).digest('hex');
}
