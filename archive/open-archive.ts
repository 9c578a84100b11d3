/** Opens the archive that the settings name, so that nobody else needs to know what kinds there are. */

import type { Settings } from '../config/settings.js';
import type { Archive } from './archive.js';
import { openFolderArchive } from './folder-archive.js';

/** @throws Error the place cannot be reached or made */
export async function openArchive(settings: Pick<Settings, 'archive' | 'dataDir'>): Promise<Archive> {
  if (settings.archive.kind === 'folder') return openFolderArchive(settings.archive.path);
  throw new Error(`No archive can be opened at ${settings.archive.url}: only folders are known.`);
}
