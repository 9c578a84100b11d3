/** `billsync verify`: proves the warehouse against the archive; drift ends with 1, a recorded discrepancy does not. */

import { type Command, Option } from 'commander';
import { EXIT } from '../errors.js';
import { contextOf, verb, withJson } from '../verb.js';
import { withWriter } from '../writer.js';

export function verifyCommand(): Command {
  const command = verb(
    'verify',
    "Proves every loaded invoice's rows, sum, hash, currency and id against its archived file. Exit 1 on drift.",
    'billsync verify --json',
  )
    .option('--full', 'read every file, also those that were proved before (this is the default)')
    .addOption(new Option('--quick', 'only what no earlier proof has seen').conflicts('full'));
  return withJson(command).action(async (flags: { readonly quick?: boolean }, command: Command) => {
    const { settings, output } = contextOf(command);
    const full = flags.quick !== true;
    const progress = output.progress('Proving');
    const onProgress = (done: number, of: number) => progress.update(done, of, 'invoices');
    const found = await withWriter(settings, {
      role: 'verify',
      async ask(client) {
        const { askVerify } = await import('../../temporal/writer-client.js');
        return askVerify(client, settings, { full }, onProgress);
      },
      direct: (warehouse) => warehouse.verify({ full, onProgress }),
    }).finally(() => progress.end());
    const { invoices, shipments, filesRead, drift, driftInAll = drift.length, discrepancies } = found;
    if (output.form === 'table') {
      output.rows(drift, [
        { title: 'invoice', value: ({ invoiceId }) => invoiceId },
        { title: 'rule', value: ({ rule }) => rule },
        { title: 'expected', value: ({ expected }) => expected, align: 'right' },
        { title: 'found', value: ({ found: there }) => there, align: 'right' },
      ]);
      output.note(
        `${invoices} invoices, ${shipments} shipments, ${filesRead} files read: ` +
          `${driftInAll === 0 ? 'no drift' : `${driftInAll} differences`}, ${discrepancies} recorded discrepancies.`,
      );
      if (driftInAll > drift.length) {
        output.note(`The first ${drift.length} are shown; with the worker stopped, all are.`);
      }
      if (drift.some(({ rule }) => rule === 'hash' || rule === 'file-missing')) {
        output.note(
          '  → `billsync import FILE` puts a file that the archive lost, or has damaged, there again',
        );
      }
    } else {
      output.thing(
        {
          invoices,
          shipments,
          files_read: filesRead,
          discrepancies,
          drift: drift.map(({ invoiceId, rule, expected, found: there }) => ({
            invoice_id: invoiceId,
            rule,
            expected,
            found: there,
          })),
        },
        () => '',
      );
    }
    if (drift.length > 0) process.exitCode = EXIT.checkFailed;
  });
}
