/** What a check of `doctor` says: good, worth knowing, or what is wrong; what it throws is what failed. */

import type { Settings } from '../../lib/config/settings.ts';

export interface Finding {
  readonly result: 'ok' | 'note' | 'failed';
  readonly detail: string;
  readonly hint: string | null;
}

export interface Check {
  readonly name: string;
  /** Writes to the data folder, so it is not tried when that is not ours to write to. */
  readonly isInFolder: boolean;
  readonly run: (settings: Settings) => Promise<Finding>;
}

export function ok(detail: string): Finding {
  return { result: 'ok', detail, hint: null };
}

export function note(detail: string, hint: string): Finding {
  return { result: 'note', detail, hint };
}
