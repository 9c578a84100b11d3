/** A name for generated data: the one that the environment of the test file chooses (processes/environment.ts), else a plain one. */
export function testName(): string {
  return process.env.TEST_NAME ?? 'Plain';
}
