/** `billsync disputes export`: claims of one carrier as a file that can be sent to it. */

import { type Command, Option } from 'commander';
import { NOTHING } from '../../../finance/disputes/totals.ts';
import { CLAIM_FORMATS, type ClaimFormat } from '../../../finance/disputes/workbook.ts';
import { writeWhole } from '../../../lib/files/files.ts';
import { counted } from '../../terminal/output.ts';
import { verb } from '../../verb.ts';
import { type ChooseFlags, chosen, listed, named, withChoice } from './choose-claims.ts';
import { disputesOf } from './disputes-of.ts';

interface ExportFlags extends ChooseFlags {
  readonly output: string;
  readonly format?: ClaimFormat;
  readonly dryRun?: boolean;
}

/** `billsync disputes export`. */
export function exportCommand(): Command {
  const command = verb(
    'export [id...]',
    'Writes claims of one carrier as a workbook to send: those that are named, or those that are chosen. Changes no state.',
    'billsync disputes export --carrier ups --output ups-claims.xlsx',
  );
  withChoice(command)
    .requiredOption('--output <file>', 'write there')
    .option('--dry-run', 'say what would be written')
    .addOption(
      new Option('--format <format>', 'the form; as the name of the file ends, else xlsx').choices([
        ...CLAIM_FORMATS,
      ]),
    );
  return command.action(async (ids: readonly string[], flags: ExportFlags, command: Command) => {
    const { disputes, output } = await disputesOf(command);
    const { claimFile } = await import('../../../finance/disputes/workbook.ts');
    const all = await listed(disputes, output);
    const claims = ids.length > 0 ? named(all, ids) : chosen(all, { state: 'open', ...flags });
    const format = flags.format ?? (flags.output.endsWith('.csv') ? 'csv' : 'xlsx');
    const file = await claimFile([...claims].reverse(), format, new Date());
    if (flags.dryRun !== true) await writeWhole(flags.output, file.body);
    const done = flags.dryRun === true ? 'Would write' : 'Wrote';
    output.note(`${done} ${flags.output}: ${counted(file.claims, 'claim')}.`);
    if (file.leftOut > 0)
      output.warn(`${counted(file.leftOut, 'claim')} left out, which ask for nothing any more.`);
    const open = claims.filter(({ state, outstanding }) => state === 'open' && outstanding !== NOTHING);
    if (open.length > 0)
      output.note(`When it is sent: billsync disputes state sent ${open.map(({ id }) => id).join(' ')}`);
  });
}
