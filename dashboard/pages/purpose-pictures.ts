/** A small picture for each purpose of reports, so that the eye finds one among them; the words beside it say the same. */

import type { Purpose } from '../../reports/catalogue.ts';

/** The lines of each, on a sheet of 48 by 32. */
export const PURPOSE_PICTURES: Readonly<Record<Purpose, string>> = {
  // Bars on a ground line.
  Spend: 'M4 28h40M10 28V18M18 28V10M26 28V14M34 28V5',
  // A bridge from one bar over its steps to another.
  Change: 'M4 28h40M9 28V16M9 16h8M19 16V9M19 9h8M29 9v5M29 14h8M39 28V14',
  // Rows under a lens.
  Audit: 'M5 6h18M5 13h10M5 20h8M5 27h16M38 26l-6-6M20 15a7 7 0 1 0 14 0a7 7 0 1 0 -14 0',
  // A sheet of a calendar with a tick.
  'Month end': 'M10 7h28v21H10zM10 13h28M17 4v5M31 4v5M18 20l4 4l8 -7',
  // A pulse.
  Health: 'M4 18h10l4 -11l8 19l4 -8h14',
};
