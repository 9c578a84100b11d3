import type { Command } from 'commander';
import { EXIT } from '../../lib/errors.ts';
import type { Diagnosis } from '../doctor/diagnose.ts';
import { paint } from '../terminal/table.ts';
import { contextOf, verb } from '../verb.ts';

export function command(): Command {
  return verb(
    'doctor',
    'Tests settings, data folder, billing service, clock, Temporal, endpoint, warehouse and archive.',
    'billsync doctor --json',
  )
    .ndjson()
    .action(async (_flags: unknown, command: Command) => {
      const { settings, effective, output } = contextOf(command);
      const { diagnose, exitCodeOf } = await import('../doctor/diagnose.ts');
      const diagnoses: Diagnosis[] = [];
      const add = (diagnosis: Diagnosis): void => {
        diagnoses.push(diagnosis);
        if (output.form === 'table') output.text(`${line(diagnosis)}\n`);
        if (output.form === 'ndjson') output.line(diagnosis);
      };
      const detail = effective.file ?? 'none; flags, environment and defaults decide';
      add({ check: 'settings file', result: 'ok', detail, hint: null, exit_code: EXIT.done });
      for await (const diagnosis of diagnose(settings)) add(diagnosis);
      if (output.form === 'json') output.rows(diagnoses, []);
      process.exitCode = exitCodeOf(diagnoses);
    });
}

function line({ check, result, detail, hint }: Diagnosis): string {
  const symbol = { ok: paint('green', '✓'), note: paint('yellow', '!'), failed: paint('red', '✗') }[result];
  const advice = hint === null ? '' : `\n    → ${hint}`;
  return `${symbol} ${check.padEnd(18)} ${detail.replace(/\s*\n\s*/g, '; ')}${advice}`;
}
