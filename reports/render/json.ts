import type { ReportResult, StreamedResult } from '../report-result.ts';

export function renderAbout(result: Omit<ReportResult, 'rows'>): string {
  return `${JSON.stringify(aboutResult(result), null, 2)}\n`;
}

/** Keys are snake_case, instants ISO 8601 UTC, percentages exact text. */
export function aboutResult({ head, columns, ...result }: Omit<ReportResult, 'rows'>) {
  const { name, title, grain, means, order, limits, example } = result;
  const { from, to, by, tenants, carriers, zones, currencies, asKnownOn } = head.filters;
  return {
    ...{ report: name, title, grain, means, order, limits, example: example?.text ?? null },
    filters: { from, to, by, tenants, carriers, zones, currencies, as_known_on: asKnownOn },
    parameters: head.parameters,
    level: head.level,
    as_of: head.asOf,
    publication: head.publication,
    time_zone: head.timeZone,
    rows: head.rows,
    rows_found: head.found,
    shipments: head.shipments,
    weighed: {
      in_pounds: head.weighed.inPounds,
      in_kilograms: head.weighed.inKilograms,
      without: head.weighed.without,
    },
    proved_percent: head.provedPercent,
    notes: head.notes,
    columns: columns.map(({ name, type, scale, unit }) => ({ name, type, scale, unit })),
  };
}

export async function* streamJson(result: StreamedResult): AsyncGenerator<string> {
  let isEmpty = true;
  for await (const lines of linesOf(result)) {
    yield `${isEmpty ? '[\n' : ',\n'}${lines.map((line) => `  ${line}`).join(',\n')}`;
    isEmpty = false;
  }
  yield isEmpty ? '[]\n' : '\n]\n';
}

export async function* streamNdjson(result: StreamedResult): AsyncGenerator<string> {
  for await (const lines of linesOf(result)) yield lines.map((line) => `${line}\n`).join('');
}

async function* linesOf({ columns, batches }: StreamedResult): AsyncGenerator<readonly string[]> {
  const names = columns.map((column) => column.name);
  for await (const rows of batches) {
    if (rows.length === 0) continue;
    yield rows.map((row) =>
      JSON.stringify(Object.fromEntries(names.map((name) => [name, row[name] ?? null]))),
    );
  }
}
