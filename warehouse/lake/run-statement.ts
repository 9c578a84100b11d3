/** The little that attaching needs of a connection, so that a writer's session and a reader's connection both do. */

/** Runs one statement without values. */
export type RunStatement = (statement: string) => Promise<unknown>;

export function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
