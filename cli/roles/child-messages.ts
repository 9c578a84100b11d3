/** What `up` and its processes say to each other, over the channel that Node opens between parent and child. */

import type { Settings } from '../../lib/config/settings.ts';
import type { ComponentHealth } from '../../lib/health/health.ts';
import type { DescribedError } from '../errors.ts';

export const CHILD_ROLES = ['webhook', 'worker'] as const;
export type ChildRole = (typeof CHILD_ROLES)[number];

/** How a process is, said every second: silence tells that its event loop stands still. */
export interface ChildState {
  readonly components: Readonly<Record<string, ComponentHealth>>;
  /** What its `/metrics` would say. */
  readonly metrics: string;
}

export type ToChild =
  /** Secrets travel here and not in the environment or on the command line, which others could read. */
  | { readonly kind: 'run'; readonly settings: Settings; readonly verbose: boolean }
  /** Drain and end. */
  | { readonly kind: 'stop' }
  /** How another process of the same `up` is; the worker shows it on its admin port. */
  | { readonly kind: 'neighbour'; readonly name: string; readonly state: ChildState };

export type FromChild =
  | { readonly kind: 'ready'; readonly addresses: Readonly<Record<string, string>> }
  /** The worker takes tasks from Temporal for the first time. */
  | { readonly kind: 'polling' }
  | { readonly kind: 'state'; readonly state: ChildState }
  /** Why it cannot start; it ends with the exit code. */
  | { readonly kind: 'failed'; readonly error: DescribedError; readonly stack: string };
