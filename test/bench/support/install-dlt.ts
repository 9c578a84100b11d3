/** The peer of the load bench: dlt from PyPI at pinned versions. */

import { installPythonTool } from '../../support/tools/installed-tools.ts';

/** The folder of its packages (PYTHONPATH). @throws Error python3 with pip is missing, or the packages cannot be had */
export function installDlt(): Promise<string> {
  return installPythonTool({
    name: 'dlt-1.31.0',
    packages: ['dlt[duckdb,parquet]==1.31.0', 'duckdb==1.5.5', 'pyarrow==26.0.1', 'pandas==3.1.1'],
  });
}
