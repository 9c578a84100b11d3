/** Which of DuckDB's errors mean a file that cannot be read; all others stay what they are. The texts are DuckDB's own. */

import { describe, expect, test } from 'vitest';
import { asDamage } from '../../lib/files/damaged-database.ts';

const PUBLISHED = '/data/reports.duckdb';
const LAKE = '/lake/generation-1/main/shipment_rows/ducklake-01a20215-5fb9-70d3-9a8b-650d7348014b.parquet';

describe('asDamage', () => {
  test.each([
    [`IO Error: The file "${PUBLISHED}" exists, but it is not a valid DuckDB database file!`],
    [
      'IO Error: Corrupt database file: computed checksum 1 does not match stored checksum 2 in block at 12288',
    ],
    [`IO Error: Could not read enough bytes from file "${PUBLISHED}": attempted to read 4096 bytes`],
  ])('names the published file and how to publish it again: %s', (message) => {
    const damage = asDamage(new Error(message), PUBLISHED);
    expect(damage).toMatchObject({
      code: 'file-damaged',
      message: expect.stringContaining(`${PUBLISHED} is damaged`),
      hint: expect.stringContaining('billsync snapshot'),
    });
    expect(asDamage(damage, PUBLISHED)).toBe(damage);
  });

  test.each([
    [`IO Error: Cannot open file "${LAKE}": No such file or directory`, 'is gone'],
    [`Invalid Input Error: Invalid footer length provided for file '${LAKE}'`, 'is damaged'],
    [`Invalid Input Error: File '${LAKE}' too small to be a Parquet file`, 'is damaged'],
    [`Invalid Input Error: Failed to read file "${LAKE}": Snappy decompression failure`, 'is damaged'],
    [`HTTP Error: HTTP GET error reading 'http://s3${LAKE}' in region 'x' (HTTP 404 Not Found)`, 'is gone'],
    [`HTTP Error: HTTP GET error reading 'http://s3${LAKE}' (HTTP 416 Range Not Satisfiable)`, 'is damaged'],
  ])("names a lake's file and the rebuild that makes it again: %s", (message, what) => {
    expect(asDamage(new Error(message))).toMatchObject({
      code: 'file-damaged',
      message: expect.stringContaining(`${LAKE} ${what}`),
      hint: expect.stringContaining('billsync rebuild'),
    });
  });

  test.each([
    [`HTTP Error: HTTP GET error reading 'http://s3${LAKE}' (HTTP 503 Slow Down)`],
    [`HTTP Error: HTTP GET error reading 'http://s3${LAKE}' (HTTP 403 Forbidden)`],
    [`IO Error: Could not connect to server error for HTTP GET to 'http://s3${LAKE}'`],
  ])('does not call damaged what its storage does not give: %s', (message) => {
    expect(asDamage(new Error(message))).toMatchObject({ code: 'file-out-of-reach' });
  });

  test.each([[LAKE], [PUBLISHED]])(
    'reports a file that this user must not read like any other: %s',
    (path) => {
      const error = asDamage(new Error(`IO Error: Cannot open file "${path}": Permission denied`), PUBLISHED);
      expect(error).toMatchObject({ code: 'EACCES', path });
    },
  );

  test.each([
    [`IO Error: Cannot open file "${LAKE}": Too many open files`],
    ['Binder Error: Referenced column "x" not found'],
  ])('leaves what is no damage as it is: %s', (message) => {
    const error = new Error(message);
    expect(asDamage(error, PUBLISHED)).toBe(error);
  });
});
