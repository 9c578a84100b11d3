/** Writes a result's rows as JSON: a bare array, or one object a line. Keys keep the report's order; decimals are strings. */

import type { StreamedResult } from '../report-result.ts';

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
