/** How wide the columns of a table become on paper. */

/**
 * Widths of columns: what each needs when all have room. Else the narrow ones have what they need, so that no amount is cut,
 * and the wide ones share what is left.
 */
export function widthsFor(
  rows: readonly (readonly { readonly text: string }[])[],
  width: number,
  measure: (text: string) => number,
): readonly number[] {
  const [header = []] = rows;
  const needed = header.map((_, index) => {
    const longest = rows.reduce((found, cells) => {
      const text = cells[index]?.text ?? '';
      return text.length > found.length ? text : found;
    }, '');
    // The longest text is not always the widest.
    return Math.max(measure(longest), measure(header[index]?.text ?? '')) * 1.04 + 1;
  });
  const all = needed.reduce((sum, each) => sum + each, 0);
  if (all <= width) return needed.map((each) => each + ((width - all) * each) / all);
  let left = width;
  let open = needed.length;
  let most = width / Math.max(1, open);
  for (const each of [...needed].sort((one, other) => one - other)) {
    most = left / open;
    if (each > most) break;
    left -= each;
    open -= 1;
  }
  return needed.map((each) => Math.min(each, most));
}
