/** Many writers on one lake, killed at random: what the suite shows in seconds, at length. */

import { type LakeVerdict, runLake } from '../warehouse/lake/lake-chaos.ts';
import { startLakeServer } from '../warehouse/lake/support.ts';

export const summary =
  'processes that load one lake at once, kill -9 among them: none lost, doubled or half seen ([invoices] [kills])';

/** @throws Error when an invoice was lost, doubled, half seen, or the lake differs from a single file */
export async function main(args: readonly string[]): Promise<void> {
  const [invoices = 400, kills = 40] = args.map(Number);
  const server = await startLakeServer();
  try {
    const quiet = await runLake(server, { invoices, rows: 50, writers: 4, kills: 0 });
    report(`${invoices} invoices, 4 writers, each loads all of them`, quiet);
    const killed = await runLake(server, { invoices, rows: 50, writers: 4, kills });
    report(`${invoices} invoices, 4 writers, kill -9`, killed);
  } finally {
    await server.stop();
  }
}

function report(title: string, verdict: LakeVerdict): void {
  process.stdout.write(`${title}: ${JSON.stringify(verdict)}\n`);
  const { refused, halfSeen, lost, wrongRows, drift, equalsFile } = verdict;
  if (refused + halfSeen + lost + wrongRows + drift > 0 || !equalsFile) {
    throw new Error(`${title}: the lake does not hold what was promised`);
  }
}
