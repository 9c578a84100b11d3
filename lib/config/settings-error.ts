/** What is wrong with the settings, all of it at once, so that nobody mends them one run at a time. */

import { BillsyncError, EXIT } from '../wire/errors.ts';

export interface SettingsProblem {
  /** The variable, key or flag as the person wrote it. */
  readonly setting: string;
  /** What is wrong and what would be right; never the value of a secret. */
  readonly message: string;
}

/** The message for a required setting that is missing. */
export const NOT_SET = 'is not set';

export class SettingsError extends BillsyncError {
  readonly code = 'invalid-settings';
  override readonly exitCode = EXIT.usage;
  readonly problems: readonly SettingsProblem[];

  constructor(problems: readonly SettingsProblem[]) {
    super(problems.map(({ setting, message }) => `${setting}: ${message}`).join('\n'));
    this.problems = problems;
  }
}
