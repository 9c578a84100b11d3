/** Which behaviours are recorded: only those without a history, since an old recording is worth more the older it is. */

/** Something was asked for that must not be recorded; the message says what to do. */
export class RecordingRefusedError extends Error {
  override readonly name = 'RecordingRefusedError';
}

/**
 * @param options.wanted names of behaviours, empty for all that have no history
 * @param options.scenes names of the behaviours there are
 * @param options.files names of the files in test/histories
 * @returns names of behaviours of which no file exists
 * @throws RecordingRefusedError a name is unknown, or has a history already
 */
export function selectHistories(options: {
  readonly wanted: readonly string[];
  readonly scenes: readonly string[];
  readonly files: readonly string[];
}): readonly string[] {
  const { wanted, scenes, files } = options;
  const unknown = wanted.filter((name) => !scenes.includes(name));
  if (unknown.length > 0) {
    throw new RecordingRefusedError(
      `There is no behaviour ${unknown.join(', ')}; test/histories/scenes.ts has them.`,
    );
  }
  const recorded = wanted.filter((name) => files.includes(`${name}.json`));
  if (recorded.length > 0) {
    throw new RecordingRefusedError(
      `${recorded.join(', ')} is recorded already. An old history shows that runs in progress still replay: ` +
        'give the changed behaviour a new name, and keep the old file.',
    );
  }
  return wanted.length > 0 ? wanted : scenes.filter((name) => !files.includes(`${name}.json`));
}
