/** The choices of filter forms, read once per publication. */

import { ask, type PageContext } from '../page-context.ts';

export interface Choices {
  readonly partners: readonly string[];
  readonly tenants: readonly string[];
  readonly carriers: readonly string[];
  readonly zones: readonly string[];
  readonly currencies: readonly string[];
}

/** Every partner, tenant, carrier, zone and currency that the publication has, in the order of a form. */
export function choicesOf(context: PageContext): Promise<Choices> {
  return context.cache.present('choices', async () => {
    const rows = await ask(context, (asking) => asking('choices'));
    const of = (filter: keyof Choices): string[] =>
      rows.filter((row) => row.filter === filter).map((row) => String(row.value));
    return {
      partners: of('partners'),
      tenants: of('tenants'),
      carriers: of('carriers'),
      zones: of('zones'),
      currencies: of('currencies'),
    };
  });
}
