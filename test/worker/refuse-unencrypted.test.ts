/** An activity that somebody without the key starts does nothing. */

import { describe, expect, test } from 'vitest';
import { UnencryptedPayloadError } from '../../lib/temporal/codec.ts';
import { UNENCRYPTED } from '../../lib/wire/names.ts';
import { refuseUnencrypted } from '../../worker/create-workers.ts';

describe('refuseUnencrypted', () => {
  test('lets an activity begin only with what was encrypted', async () => {
    const execute = refuseUnencrypted().inbound?.execute;
    const next = async () => 'done';
    await expect(execute?.({ args: [UNENCRYPTED], headers: {} }, next)).rejects.toThrow(
      UnencryptedPayloadError,
    );
    expect(await execute?.({ args: [{ invoiceId: 'i' }], headers: {} }, next)).toBe('done');
  });
});
