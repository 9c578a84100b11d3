/** Row counts and amounts per key, in whole ten-thousandths: what the books of a test are compared with. */

export interface Sum {
  readonly rows: number;
  readonly tenThousandths: bigint;
}

export function addTo(sums: Map<string, Sum>, name: string, cost: string): void {
  const { rows, tenThousandths } = sums.get(name) ?? { rows: 0, tenThousandths: 0n };
  sums.set(name, { rows: rows + 1, tenThousandths: tenThousandths + exact(cost) });
}

/** Keys whose sums differ, in words; the first map is what should be. */
export function differences(
  expected: ReadonlyMap<string, Sum>,
  found: ReadonlyMap<string, Sum>,
): readonly string[] {
  return [...new Set([...expected.keys(), ...found.keys()])].flatMap((name) => {
    const [should, is] = [describeSum(expected.get(name)), describeSum(found.get(name))];
    return should === is ? [] : [`${name}: ${should} billed, ${is} found`];
  });
}

export function describeSum(sum: Sum | undefined): string {
  return sum === undefined ? 'nothing' : `${sum.rows} rows of ${sum.tenThousandths} ten-thousandths`;
}

/** Decimal text in ten-thousandths. @throws SyntaxError it has more than four decimals, or is no amount */
export function exact(decimal: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{0,4})0*)?$/.exec(decimal.trim());
  if (match === null) throw new SyntaxError(`"${decimal}" is no amount.`);
  const amount = BigInt(`${match[2]}${(match[3] ?? '').padEnd(4, '0')}`);
  return match[1] === '-' ? -amount : amount;
}
