import type { Command } from 'commander';
import type { Explanation } from '../../warehouse/explain-published.ts';
import { CliError, EXIT } from '../errors.ts';
import { explainPublished, explanationsAsJson, factsOf } from '../explanation.ts';
import { paint, printable } from '../terminal/table.ts';
import { type Run, verb } from '../verb.ts';

export function command(): Command {
  return verb(
    'explain <tracking-number>',
    'Shows the source of a billed shipment: row, line, file, hash, URL, event and workflow run.',
    'billsync explain 1Z999AA10123456784',
  )
    .json()
    .run(async ({ settings, output }: Run, trackingNumber: string) => {
      const { requirePublished } = await import('../published.ts');
      await requirePublished(settings);
      const { MAX_EXPLAINED } = await import('../../warehouse/explain-published.ts');
      const found = await explainPublished(settings, trackingNumber);
      if (found.length === 0) {
        throw new CliError(
          EXIT.nothingMatched,
          `no shipment has the tracking number ${printable(trackingNumber)}`,
          { hint: 'it must match exactly, as the carrier wrote it' },
        );
      }
      output.thing(explanationsAsJson(found), () => found.map(describe).join('\n\n'));
      if (found.length === MAX_EXPLAINED) {
        output.note(`There may be more than these ${MAX_EXPLAINED} rows; \`billsync sql\` counts them all.`);
      }
    });
}

function describe(row: Explanation): string {
  const title = paint('bold', printable(row.trackingNumber));
  const lines = factsOf(row).map(([name, value]) => `  ${name.padEnd(10)} ${printable(value)}`);
  return [title, ...lines].join('\n');
}
