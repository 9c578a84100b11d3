/**
 * Before each test file: DuckDB in its process, and in those that it starts, works with one thread.
 *
 * DuckDB hands parts of the smallest statement to as many threads as there are cores and, until they are done, asks again and
 * again whether they are. A fixture has a few rows, the cores are taken by other tests, and a fifth of the processor's time
 * went there. What is proved about threads says so with `useAllThreads` or `withAllThreads`.
 */

/** Read by DuckDB's native code (`DBConfig::GetSystemMaxThreads`) at the opening of an instance that is not told how many. */
const THREADS = 'SLURM_CPUS_ON_NODE';

process.env[THREADS] = '1';

/** From here to the end of the test file, as many threads as there are cores. */
export function useAllThreads(): void {
  delete process.env[THREADS];
}

export function withAllThreads<T>(work: () => Promise<T>): Promise<T> {
  return withThreads(null, work);
}

export async function withThreads<T>(threads: number | null, work: () => Promise<T>): Promise<T> {
  if (threads === null) delete process.env[THREADS];
  else process.env[THREADS] = `${threads}`;
  try {
    return await work();
  } finally {
    process.env[THREADS] = '1';
  }
}
