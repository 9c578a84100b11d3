/** What a person is told who stops waiting (Ctrl-C): whether something goes on, and how to come back to it. */

/** The signal then does what it always does. */
export async function onInterrupt<T>(words: string, work: () => Promise<T>): Promise<T> {
  const tell = (): void => {
    process.off('SIGINT', tell);
    process.stderr.write(`\n${words}\n`);
    process.kill(process.pid, 'SIGINT');
  };
  process.on('SIGINT', tell);
  try {
    return await work();
  } finally {
    process.off('SIGINT', tell);
  }
}
