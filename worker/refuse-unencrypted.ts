/** Refuses an activity whose input reached Temporal in clear text; workflows of ours encrypt theirs (ADR 3). */

import type { ActivityInterceptors } from '@temporalio/worker';
import { UnencryptedPayloadError } from '../lib/temporal/codec.ts';
import { isUnencrypted } from '../lib/wire/names.ts';

export function refuseUnencrypted(): ActivityInterceptors {
  return {
    inbound: {
      async execute(input, next) {
        if (!input.args.some(isUnencrypted)) return next(input);
        throw new UnencryptedPayloadError('an activity');
      },
    },
  };
}
