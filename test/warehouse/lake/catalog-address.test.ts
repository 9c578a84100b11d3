import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../../lib/errors.ts';
import { extensionsFor, loadExtensions } from '../../../warehouse/lake/attach-lake.ts';
import { readCatalogAddress } from '../../../warehouse/lake/catalog-address.ts';
import { asCatalogError } from '../../../warehouse/lake/catalog-errors.ts';
import { currentGeneration } from '../../../warehouse/lake/generation.ts';

describe('readCatalogAddress', () => {
  test('takes libpq keywords, quoted ones too', () => {
    const address = readCatalogAddress(
      String.raw`postgres:host=db.example port=5433 dbname='the lake' user=w password='it\'s: @/?' sslmode=require`,
    );
    const url = new URL(String(address.pool.connectionString));
    expect([url.hostname, url.port, decodeURIComponent(url.pathname)]).toEqual([
      'db.example',
      '5433',
      '/the lake',
    ]);
    expect([url.username, decodeURIComponent(url.password)]).toEqual(['w', "it's: @/?"]);
    expect(url.searchParams.get('sslmode')).toBe('require');
    expect(address.libpq).toContain('host=db.example');
    expect(address.printable).toBe("host=db.example port=5433 dbname='the lake' user=w sslmode=require");
  });

  test.each(['postgres://w:secret@db.example/lake', 'postgres:postgresql://w:secret@db.example/lake'])(
    'takes a URL: %s',
    (catalog) => {
      const address = readCatalogAddress(catalog);
      expect(address.libpq).toBe('host=db.example user=w dbname=lake');
      expect(address.pool.connectionString).toContain('w:secret@db.example/lake');
      expect(address.printable).toBe('postgresql://w@db.example/lake');
      expect(address.password).toBe('secret');
    },
  );

  test('reaches a socket by its folder', () => {
    const url = new URL(
      String(readCatalogAddress('postgres:host=/run/pg dbname=lake').pool.connectionString),
    );
    expect(url.searchParams.get('host')).toBe('/run/pg');
  });

  test('refuses what is neither', () => {
    expect(() => readCatalogAddress('postgres:the lake, please')).toThrow(/neither/);
    expect(() => readCatalogAddress('postgres://a:1,b:2/lake')).toThrow(/one host/);
    expect(() => readCatalogAddress('postgres:host=a,b dbname=lake')).toThrow(/several hosts/);
  });
});

test('a catalogue that does not answer is named without its password', async () => {
  const address = readCatalogAddress('postgres:host=127.0.0.1 port=1 dbname=lake user=w password=geheim');
  const reading = currentGeneration(address, 'test');
  await expect(reading).rejects.toMatchObject({
    code: 'catalog-unreachable',
    message: expect.stringContaining('host=127.0.0.1 port=1'),
  });
  await expect(reading).rejects.not.toMatchObject({ message: expect.stringContaining('geheim') });
});

test.each([
  ...['08006', '57P01', '57P03', '25P03', null].map((sqlState) => ['catalog-unreachable', sqlState] as const),
  ...['25006', '40P01', '53100', '55P03'].map((sqlState) => ['catalog-fails', sqlState] as const),
  ...['28P01', '3D000', '42501', '42P01', '23505'].map((sqlState) => [sqlState, sqlState] as const),
])('a worker waits for what passes by itself: %s for %s', (code, sqlState) => {
  const address = readCatalogAddress('postgres:host=db.example dbname=lake user=w password=geheim');
  const message = 'geheim was not taken';
  const error = sqlState === null ? new Error(message) : new pg.DatabaseError(message, 9, 'error');
  if (sqlState !== null) Object.assign(error, { code: sqlState });
  const found = asCatalogError(error, address);
  expect(found).toMatchObject(code === sqlState ? { code } : { code, exitCode: EXIT.unreachable });
  if (code !== sqlState) expect(String(found)).not.toContain('geheim');
});

describe('loadExtensions', () => {
  test('loads what DuckDB has, and one extension more for a bucket', async () => {
    const statements: string[] = [];
    await loadExtensions(async (statement) => statements.push(statement), extensionsFor('s3://bucket/lake'));
    expect(statements).toEqual(['load ducklake', 'load postgres_scanner', 'load httpfs']);
  });

  test('reports the attempts and the remedy for a missing extension', async () => {
    const loading = loadExtensions(
      async (statement) => {
        throw new Error(`no such thing: ${statement}\nand a long explanation`);
      },
      ['ducklake'],
    );
    await expect(loading).rejects.toMatchObject({
      code: 'extension-missing',
      message: expect.stringMatching(
        /ducklake for v1\.5\.5 .*load ducklake; .*; extensions\.duckdb\.org: no such thing: install ducklake\. Install it/,
      ),
    });
  });
});
