/** Which behaviours are recorded: only those without a history, since an old recording is worth more the older it is. */

/** A request that must not be recorded; the message contains the reason. */
export class RecordingRefusedError extends Error {
  override readonly name = 'RecordingRefusedError';
}

/**
 * @param options.requested names of behaviours, empty for all that have no history
 * @param options.scenes names of the behaviours there are
 * @param options.files names of the files in test/histories
 * @returns names of behaviours of which no file exists
 * @throws RecordingRefusedError a name is unknown, or has a history already
 */
export function selectHistories(options: {
  readonly requested: readonly string[];
  readonly scenes: readonly string[];
  readonly files: readonly string[];
}): readonly string[] {
  const { requested, scenes, files } = options;
  const unknown = requested.filter((name) => !scenes.includes(name));
  if (unknown.length > 0) {
    throw new RecordingRefusedError(
      `There is no behaviour ${unknown.join(', ')}; test/histories/scenes.ts has them.`,
    );
  }
  const recorded = requested.filter((name) => files.includes(`${name}.json`));
  if (recorded.length > 0) {
    throw new RecordingRefusedError(
      `${recorded.join(', ')} is recorded already. An old history shows that runs in progress still replay: ` +
        'give the changed behaviour a new name, and keep the old file.',
    );
  }
  return requested.length > 0 ? requested : scenes.filter((name) => !files.includes(`${name}.json`));
}
