import { describe, expect, test } from 'vitest';
import { CSV_HEADERS } from '../../../lib/wire/csv-file.ts';
import { CsvScanner } from '../../../lib/wire/csv-scanner.ts';
import type { FileLoadOutcome, LoadOutcome } from '../../../lib/wire/warehouse-requests.ts';
import { BatchingLoader } from '../../../warehouse/load/load-files.ts';

interface NamedLoad {
  readonly name: string;
  readonly file: {
    readonly sha256: string;
    readonly sizeBytes: number;
    readonly scan: ReturnType<CsvScanner['end']>;
  };
}

function load(name: string): NamedLoad {
  const bytes = Buffer.from(`${CSV_HEADERS.join(',')}\r\n${','.repeat(CSV_HEADERS.length - 1)}\r\n`);
  const scanner = new CsvScanner();
  scanner.push(bytes);
  return { name, file: { sha256: name, sizeBytes: bytes.length, scan: scanner.end() } };
}

const LOADED: FileLoadOutcome = {
  ...{ outcome: 'loaded', loadId: 1, version: 1, shipments: 1, billingCost: '0.0000', currencyCode: 'USD' },
  ...{ proof: 'hash', discrepancies: [], outrankedBy: null, isDenied: false, isDamaged: false },
};
const VOIDED: LoadOutcome = { outcome: 'voided' };

/** One whose loads of these names are known already, and what it asked and loaded. */
function recorded(known: readonly string[]) {
  const did: string[] = [];
  const names = (loads: readonly NamedLoad[]): string => loads.map(({ name }) => name).join(' ');
  const batches: number[] = [];
  const loader = new BatchingLoader<NamedLoad>(
    {
      async alone(one) {
        did.push(`alone ${one.name}`);
        return LOADED;
      },
      async together(loads) {
        did.push(`together ${names(loads)}`);
        return loads.map(() => LOADED);
      },
      async known(loads) {
        did.push(`known ${names(loads)}`);
        return loads.map(({ name }) => (known.includes(name) ? VOIDED : null));
      },
    },
    { onBatch: (files) => batches.push(files) },
  );
  return { did, batches, loader };
}

describe('BatchingLoader', () => {
  test('asks once for a whole group whether there is anything to do, and loads the rest together', async () => {
    const { did, batches, loader } = recorded(['c']);
    const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => loader.load(load(name))));
    expect(outcomes).toEqual([LOADED, LOADED, VOIDED, LOADED]);
    expect(did).toEqual(['known a', 'alone a', 'known b c d', 'together b d']);
    expect(batches).toEqual([1, 2]);
  });

  test('loads nothing when all of a group is known, and one that is left by itself', async () => {
    const { did, batches, loader } = recorded(['a', 'b', 'c']);
    const outcomes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => loader.load(load(name))));
    expect(outcomes).toEqual([VOIDED, VOIDED, VOIDED, LOADED]);
    expect(did).toEqual(['known a', 'known b c d', 'alone d']);
    expect(batches).toEqual([1]);
  });
});
