/** The product's own entry, behind `die-at.ts`. An entry and not a preload: workers' threads would load that again. */

import './die-at.ts';
import '../../../cli/main.ts';
