/**
 * Anyone who reaches Temporal's port could void an invoice otherwise (ADR 3). The codec cannot throw for a worker:
 * the payload stays in the history, so the workflow task would fail forever.
 */

import {
  ActivityFailure,
  ApplicationFailure,
  log,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { isUnencrypted } from '../lib/wire/names.ts';

/** Workflows without an input; for all others a missing input means that another program started them. */
const WITHOUT_INPUT = new Set(['snapshot']);

export function interceptors(): WorkflowInterceptors {
  return {
    inbound: [
      {
        async execute(input, next) {
          const isMissing = input.args.length === 0 && !WITHOUT_INPUT.has(workflowInfo().workflowType);
          if (isMissing || input.args.some(isUnencrypted)) throw refusal('input');
          return next(input);
        },
        async handleSignal(input, next) {
          // Every signal of billsync has one encrypted argument.
          if (input.args.length > 0 && !input.args.some(isUnencrypted)) return next(input);
          log.warn('ignored a signal that was not encrypted', { signal: input.signalName });
        },
        async handleQuery(input, next) {
          if (input.args.some(isUnencrypted)) throw refusal('query');
          return next(input);
        },
        validateUpdate(input, next) {
          if (input.args.some(isUnencrypted)) throw refusal('update');
          next(input);
        },
      },
    ],
    outbound: [
      {
        async scheduleActivity(input, next) {
          return requireEncrypted(await next(input), input);
        },
        async scheduleLocalActivity(input, next) {
          return requireEncrypted(await next(input), input);
        },
      },
    ],
  };
}

function requireEncrypted(result: unknown, { activityType }: { readonly activityType: string }): unknown {
  if (!isUnencrypted(result)) return result;
  throw new ActivityFailure(
    'The result of an activity was not encrypted.',
    activityType,
    undefined,
    'RETRY_POLICY_NOT_SET',
    undefined,
    refusal('result'),
  );
}

function refusal(payload: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `This ${payload} was not encrypted. Unencrypted payloads are refused.`,
    'unencrypted',
  );
}
