interface Panel {
  readonly title: string;
  readonly kind: 'stat' | 'timeseries' | 'table';
  readonly unit?: 'short' | 's' | 'bytes' | 'percentunit' | 'dateTimeFromNow';
  /** The expressions of a panel by their legends; `$instance` is the selected instance. */
  readonly queries: Readonly<Record<string, string>>;
  readonly width: number;
  readonly redFrom?: number;
}

const ROWS: Readonly<Record<string, readonly Panel[]>> = {
  Status: [
    stat('Components with problems', 'sum(1 - billsync_component_up{instance=~"$instance"})', 1),
    stat('Alerts open', 'sum(billsync_alerts_open{instance=~"$instance",severity!="info"})', 1),
    stat(
      'Invoices that need attention',
      'billsync_invoices{instance=~"$instance",state="needs_attention"}',
      1,
    ),
    stat('In quarantine', 'sum(billsync_quarantine_depth{instance=~"$instance"})', 1),
    stat(
      'Invoices missing',
      'sum(last_over_time(billsync_expected_invoices_missing{instance=~"$instance"}[3h]))',
      1,
    ),
    stat('Publication delay', 'billsync_publication_pending_seconds{instance=~"$instance"}', 120, 's'),
    {
      ...{ title: 'Open alerts', kind: 'table', width: 12 },
      queries: { '{{alert}}': 'billsync_alerts_open{instance=~"$instance"} > 0' },
    },
    {
      ...{ title: 'Components', kind: 'timeseries', width: 12 },
      queries: { '{{component}}': 'billsync_component_up{instance=~"$instance"}' },
    },
  ],
  Receiving: [
    lines('Deliveries a second, by answer', {
      '{{status}}': 'sum by (status) (rate(billsync_deliveries_total{instance=~"$instance"}[5m]))',
    }),
    lines(
      'Response time',
      {
        '50 %': quantile(0.5, 'acknowledge_seconds'),
        '99 %': quantile(0.99, 'acknowledge_seconds'),
      },
      's',
    ),
    lines('Inbox backlog', { deliveries: 'billsync_inbox_backlog{instance=~"$instance"}' }),
    lines(
      'Age of the oldest inbox item',
      { age: 'billsync_inbox_backlog_age_seconds{instance=~"$instance"}' },
      's',
    ),
  ],
  'The billing service': [
    lines('Calls a second, by endpoint and answer', {
      '{{endpoint}} {{answer}}':
        'sum by (endpoint, answer) (rate(billsync_service_calls_total{instance=~"$instance"}[5m]))',
    }),
    lines(
      'Response time, 95 %',
      {
        '{{endpoint}}':
          'histogram_quantile(0.95, sum by (le, endpoint) (rate(billsync_service_call_seconds_bucket{instance=~"$instance"}[5m])))',
      },
      's',
    ),
    lines(
      'Downloaded bytes a second',
      { bytes: 'rate(billsync_downloaded_bytes_total{instance=~"$instance"}[5m])' },
      'bytes',
    ),
    lines(
      'Token: age and time left',
      {
        age: 'time() - billsync_token_obtained_timestamp_seconds{instance=~"$instance",role="worker"}',
        left: 'billsync_token_expiry_timestamp_seconds{instance=~"$instance",role="worker"} - time()',
      },
      's',
    ),
  ],
  'Loading and publishing': [
    lines('Invoices by state', { '{{state}}': 'billsync_invoices{instance=~"$instance"}' }),
    lines('Loads a second, by outcome', {
      '{{outcome}}': 'sum by (outcome) (rate(billsync_loads_total{instance=~"$instance"}[5m]))',
    }),
    lines('Rows a second', { rows: 'rate(billsync_loaded_rows_total{instance=~"$instance"}[5m])' }),
    lines(
      'Time of a load',
      { '50 %': quantile(0.5, 'load_seconds'), '99 %': quantile(0.99, 'load_seconds') },
      's',
    ),
    lines(
      'Age of the publication and of the oldest unpublished change',
      {
        publication: 'time() - billsync_publication_timestamp_seconds{instance=~"$instance"}',
        change: 'billsync_publication_pending_seconds{instance=~"$instance"}',
      },
      's',
    ),
    lines(
      'Time since the last load',
      { age: 'time() - billsync_last_load_timestamp_seconds{instance=~"$instance"}' },
      's',
    ),
  ],
  'Processes and machine': [
    lines('Disk, free', { free: 'billsync_disk_free_bytes{instance=~"$instance"}' }, 'bytes'),
    lines('Memory', { '{{role}}': 'process_resident_memory_bytes{instance=~"$instance"}' }, 'bytes'),
    lines('Processor', { '{{role}}': 'rate(process_cpu_seconds_total{instance=~"$instance"}[5m])' }),
    lines(
      'Event loop lag, 99 % (0.05 when idle)',
      { '{{role}}': 'nodejs_eventloop_lag_p99_seconds{instance=~"$instance"}' },
      's',
    ),
    lines('Process restarts', {
      '{{process}}': 'increase(billsync_process_restarts_total{instance=~"$instance"}[1h])',
    }),
    lines('Failed activities a second', {
      '{{activity_type}}':
        'sum by (activity_type) (rate(temporal_activity_execution_failed_total{instance=~"$instance"}[5m]))',
    }),
  ],
};

const SOURCE = { type: 'prometheus', uid: '$source' };
const HEIGHTS = { stat: 4, timeseries: 8, table: 8 } as const;

export function grafanaDashboard(): string {
  let id = 0;
  let y = 0;
  const panels = Object.entries(ROWS).flatMap(([title, row]) => {
    const placed: object[] = [
      { id: ++id, type: 'row', title, collapsed: false, gridPos: { h: 1, w: 24, x: 0, y: y++ } },
    ];
    let x = 0;
    let height = 0;
    for (const panel of row) {
      if (x + panel.width > 24) {
        y += height;
        x = height = 0;
      }
      const gridPos = { h: HEIGHTS[panel.kind], w: panel.width, x, y };
      placed.push({ id: ++id, ...panelOf(panel), gridPos });
      x += panel.width;
      height = Math.max(height, gridPos.h);
    }
    y += height;
    return placed;
  });
  return `${JSON.stringify({ ...FRAME, panels }, null, 2)}\n`;
}

function panelOf({ title, kind, unit = 'short', queries, redFrom }: Panel): object {
  const steps = [
    { color: 'green', value: null },
    ...(redFrom === undefined ? [] : [{ color: 'red', value: redFrom }]),
  ];
  return {
    ...{ type: kind, title, datasource: SOURCE },
    targets: Object.entries(queries).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      ...{ datasource: SOURCE, expr, legendFormat },
      ...(kind === 'timeseries' ? {} : { instant: true }),
      ...(kind === 'table' ? { format: 'table' } : {}),
    })),
    fieldConfig: { defaults: { unit, thresholds: { mode: 'absolute', steps } }, overrides: [] },
    options: kind === 'stat' ? { colorMode: 'background', reduceOptions: { calcs: ['lastNotNull'] } } : {},
  };
}

const FRAME = {
  uid: 'billsync',
  title: 'billsync',
  tags: ['billsync'],
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-6h', to: 'now' },
  templating: {
    list: [
      { name: 'source', type: 'datasource', query: 'prometheus', label: 'Prometheus' },
      {
        ...{ name: 'instance', type: 'query', label: 'Instance', datasource: SOURCE },
        query: 'label_values(billsync_build_info, instance)',
        ...{ refresh: 2, includeAll: true, multi: true, current: { text: 'All', value: '$__all' } },
      },
    ],
  },
  links: [{ type: 'link', title: 'Runbook', url: 'http://$instance/runbook', targetBlank: true }],
};

function stat(title: string, query: string, redFrom: number, unit: Panel['unit'] = 'short'): Panel {
  return { title, kind: 'stat', unit, queries: { '': `${query} or vector(0)` }, width: 4, redFrom };
}

function lines(title: string, queries: Panel['queries'], unit: Panel['unit'] = 'short'): Panel {
  return { title, kind: 'timeseries', unit, queries, width: 12 };
}

function quantile(share: number, name: string): string {
  return `histogram_quantile(${share}, sum by (le) (rate(billsync_${name}_bucket{instance=~"$instance"}[5m])))`;
}
