/**
 * Before each test file: DuckDB in its process, and in those that it starts, works with one thread.
 *
 * DuckDB distributes the smallest statement over all cores and polls until its threads are done, which took a fifth of the processor
 * time of tests with few rows. Tests of several threads use `useAllThreads` or `withAllThreads`.
 */

/** Read by DuckDB (`DBConfig::GetSystemMaxThreads`) when an instance is opened without a number of threads. */
const THREADS = 'SLURM_CPUS_ON_NODE';

process.env[THREADS] = '1';

/** From here to the end of the test file, as many threads as there are cores. */
export function useAllThreads(): void {
  delete process.env[THREADS];
}

export async function withAllThreads<T>(work: () => Promise<T>): Promise<T> {
  useAllThreads();
  try {
    return await work();
  } finally {
    process.env[THREADS] = '1';
  }
}
