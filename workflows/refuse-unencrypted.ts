/**
 * Obeys nothing that reached a workflow in clear text: whoever reaches Temporal's port could void an invoice by it.
 *
 * The codec (lib/temporal/codec.ts) puts `UNENCRYPTED` where it found clear text. It cannot throw there: the clear text
 * stands in history for good, so the workflow's task would fail for ever, and one forged signal would stop an invoice.
 * A signal is dropped and the run goes on; an input fails its run, a query and an update their caller, and the answer
 * of an activity counts as a failed attempt. Every workflow is bundled with this.
 */

import {
  ActivityFailure,
  ApplicationFailure,
  log,
  type WorkflowInterceptors,
  workflowInfo,
} from '@temporalio/workflow';
import { isUnencrypted } from '../lib/wire/names.ts';

/** Started without an input; from every other workflow a missing input was left out by a stranger. */
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
          // Ours carry one encrypted object each, so one without is a stranger's as well.
          if (input.args.length > 0 && !input.args.some(isUnencrypted)) return next(input);
          log.warn('a signal that was not encrypted is not obeyed', { signal: input.signalName });
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
          return encrypted(await next(input), input);
        },
        async scheduleLocalActivity(input, next) {
          return encrypted(await next(input), input);
        },
      },
    ],
  };
}

/** @throws ActivityFailure it came in clear text */
function encrypted(result: unknown, { activityType }: { readonly activityType: string }): unknown {
  if (!isUnencrypted(result)) return result;
  throw new ActivityFailure(
    'The answer of an activity was not encrypted.',
    activityType,
    undefined,
    'RETRY_POLICY_NOT_SET',
    undefined,
    refusal('answer'),
  );
}

function refusal(what: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(
    `This ${what} was not encrypted. Nothing that reaches Temporal in clear text is obeyed.`,
    'unencrypted',
  );
}
