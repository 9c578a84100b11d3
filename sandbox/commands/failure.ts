/** Exit codes of the commands, and the one error they end with: three lines at most for people. */
export const EXIT = {
  diskFull: 1,
  usage: 2,
  nothingMatched: 3,
  unreachable: 5,
  serviceError: 6,
  locked: 8,
  bug: 70,
} as const;

export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: number;
  readonly lines: readonly string[];

  constructor(exitCode: number, lines: readonly string[]) {
    super(lines[0]);
    this.exitCode = exitCode;
    this.lines = lines;
  }
}
