import type { Command } from 'commander';
import type { ScheduleState } from '../../workflows/client/schedules.ts';
import { CliError, EXIT } from '../errors.ts';
import { group, type Run, verb } from '../verb.ts';
import { withTemporal } from '../with-temporal.ts';

export function command(): Command {
  return group('schedule', 'Shows and changes the Temporal Schedule of the reconciliation.', [
    showCommand(),
    change('apply', 'Creates the schedule, or updates it from the settings.', 'applied'),
    change('pause', 'Pauses the schedule; a run in progress continues.', 'paused'),
    change('resume', 'Resumes a paused schedule.', 'resumed'),
    change('trigger', 'Starts a run now, unless one is in progress.', 'triggered'),
  ]);
}

function showCommand(): Command {
  return verb('show', 'Shows the schedule with its last and next runs.', 'billsync schedule show --json')
    .json()
    .run(async ({ settings, output }: Run) => {
      const { showSchedule } = await import('../../workflows/client/schedules.ts');
      const state = await withTemporal(settings, (client) => showSchedule(client, settings));
      if (state === null) {
        throw new CliError(EXIT.nothingMatched, 'there is no schedule yet', {
          hint: 'a worker makes it when it starts; `billsync schedule apply` makes it now',
        });
      }
      output.thing(asJson(state), () => describe(state));
    });
}

type Change = 'apply' | 'pause' | 'resume' | 'trigger';

function change(name: Change, summary: string, done: string): Command {
  const command = verb(name, summary, `billsync schedule ${name}`)
    .option('--dry-run', 'show what would be done')
    .audited();
  if (name === 'pause') command.option('--note <text>', 'the reason', 'paused with billsync schedule pause');
  return command.run(
    async ({ settings, output, flags }: Run<{ readonly dryRun?: boolean; readonly note?: string }>) => {
      if (flags.dryRun === true)
        return output.note(`Would ${name} the schedule (every ${settings.reconcileEvery}).`);
      const { applySchedule, pauseSchedule, resumeSchedule, showSchedule, triggerSchedule } = await import(
        '../../workflows/client/schedules.ts'
      );
      await withTemporal(settings, async (client) => {
        if (name !== 'apply' && (await showSchedule(client, settings)) === null)
          await applySchedule(client, settings);
        switch (name) {
          case 'apply':
            return applySchedule(client, settings);
          case 'pause':
            return pauseSchedule(client, settings, flags.note ?? '');
          case 'resume':
            return resumeSchedule(client, settings);
          case 'trigger':
            return triggerSchedule(client, settings);
        }
      });
      output.note(`The schedule is ${done} (every ${settings.reconcileEvery}).`);
    },
  );
}

function asJson(state: ScheduleState) {
  return {
    schedule_id: state.scheduleId,
    every: state.every,
    paused: state.isPaused,
    note: state.note,
    last_runs: state.lastRuns.map(({ at, workflowId }) => ({ at, workflow_id: workflowId })),
    next_runs: state.nextRuns,
    running: state.running,
  };
}

function describe(state: ScheduleState): string {
  const paused = state.isPaused ? `, paused: ${state.note}` : '';
  return [
    `${state.scheduleId}: every ${state.every}${paused}`,
    `  last  ${state.lastRuns.map(({ at }) => at).join(', ') || 'never ran'}`,
    `  next  ${state.nextRuns.slice(0, 3).join(', ') || 'none'}`,
    `  now   ${state.running.join(', ') || 'nothing runs'}`,
  ].join('\n');
}
