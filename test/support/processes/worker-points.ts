/** The worker's durable points, D7 to D14 of its way from a token to a published file, each before and after. */

const STEPS = [
  'token',
  'regenerated',
  'downloaded',
  'archived',
  'archive-told',
  'committed',
  'snapshot',
  'renamed',
] as const;

/** `reported after` is seen in Temporal's history, not in the worker: whoever waits for it kills from outside. */
export type WorkerPoint = `${(typeof STEPS)[number]} ${'before' | 'after'}` | 'reported before';

/** In the order of the way. */
export const WORKER_POINTS: readonly WorkerPoint[] = [
  ...STEPS.slice(0, 6).flatMap((step) => [`${step} before`, `${step} after`] as const),
  'reported before',
  ...STEPS.slice(6).flatMap((step) => [`${step} before`, `${step} after`] as const),
];
