import type { NewSchedule } from '../../billing/schedules.ts';
import { brief, flag, type Operation, shape, tenantsShape, text, whole } from './operation.ts';

const scheduleShape = {
  name: text,
  enabled: flag,
  everySeconds: { type: ['number', 'null'] },
  level: { enum: ['tenant', 'partner'] },
  tenants: tenantsShape,
  autoApprove: flag,
  tenantOverrides: { type: 'object', additionalProperties: flag },
  shipments: whole,
};

export const SCHEDULE_OPERATIONS: readonly Operation[] = [
  {
    id: 'listSchedules',
    method: 'GET',
    path: '/schedules',
    summary: 'Billing schedules',
    run: ({ schedules }) => schedules.list(),
  },
  {
    id: 'addSchedule',
    method: 'POST',
    path: '/schedules',
    summary: 'Creates a billing schedule',
    body: shape(scheduleShape, ['name']),
    status: 201,
    run: ({ schedules }, { body }) => schedules.add(body as NewSchedule),
  },
  {
    id: 'editSchedule',
    method: 'PATCH',
    path: '/schedules/{scheduleId}',
    summary: 'Changes settings of a billing schedule',
    body: shape(scheduleShape),
    run: ({ schedules }, { params, body }) =>
      schedules.edit(params.scheduleId ?? '', body as Partial<NewSchedule>),
  },
  {
    id: 'deleteSchedule',
    method: 'DELETE',
    path: '/schedules/{scheduleId}',
    summary: 'Deletes a billing schedule; its invoices stay',
    status: 204,
    run: ({ schedules }, { params }) => schedules.delete(params.scheduleId ?? ''),
  },
  {
    id: 'runSchedule',
    method: 'POST',
    path: '/schedules/{scheduleId}/run',
    summary: "Generates the schedule's invoices now",
    run: async ({ schedules }, { params }) => (await schedules.run(params.scheduleId ?? '')).map(brief),
  },
];
