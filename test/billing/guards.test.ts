import { describe, expect, test } from 'vitest';
import { isListedUrl, mayDial } from '../../billing/address-guard.ts';
import { readRetryAfter } from '../../billing/http.ts';
import { readHosts } from '../../lib/config/setting-values.ts';

describe('mayDial', () => {
  const refusedAlways = [
    '169.254.169.254',
    '169.254.1.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '240.0.0.1',
    '100.100.100.200',
  ];
  const refusedAlways6 = [
    '::',
    'fe80::1',
    'ff02::1',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '::a9fe:a9fe',
    '::169.254.169.254',
    '64:ff9b:1::808:808',
    '::ffff:0:808:808',
    '2002:7f00:1::1',
    '2002:808:808::1',
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2606:4700::5efe:169.254.169.254',
    'fec0::1',
    '2001:db8::1',
    '100::1',
    '4000::1',
    'fd00:ec2::254',
    'nonsense',
    '',
  ];
  const privateOnes = [
    '127.0.0.1',
    '127.8.8.8',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '::1',
    'fd12::1',
    '::ffff:10.0.0.1',
    '::ffff:7f00:1',
    '::127.0.0.1',
    '::10.0.0.1',
    '64:ff9b::10.0.0.1',
    '2606:4700::5efe:127.0.0.1',
    '2606:4700::200:5efe:192.168.1.1',
  ];

  test.each([
    '8.8.8.8',
    '1.1.1.1',
    '2606:4700:4700::1111',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '::8.8.8.8',
    '2606:4700::5efe:808:808',
  ])('dials %s', (address) => {
    expect(mayDial(address, { allowPrivateHosts: false })).toBe(true);
  });
  test.each([...refusedAlways, ...refusedAlways6])('never dials %j', (address) => {
    expect(mayDial(address, { allowPrivateHosts: false })).toBe(false);
    expect(mayDial(address, { allowPrivateHosts: true })).toBe(false);
  });
  test.each(privateOnes)('dials %s only when private hosts are allowed', (address) => {
    expect(mayDial(address, { allowPrivateHosts: false })).toBe(false);
    expect(mayDial(address, { allowPrivateHosts: true })).toBe(true);
  });
});

describe('isListedUrl', () => {
  const entries = [
    'files.example.com',
    '.storage.example',
    'local.example:8443',
    's3.example:9000/bucket/',
    '',
  ];

  test.each([
    ['https://files.example.com/a?x=1', true],
    ['https://FILES.example.com:443/a', true],
    ['https://eu.storage.example/a', true],
    ['https://local.example:8443/a', true],
    ['http://files.example.com/a', false],
    ['https://files.example.com:8443/a', false],
    ['https://storage.example/a', false],
    ['https://evilstorage.example/a', false],
    ['https://files.example.com.evil.example/a', false],
    ['https://files.example.com@evil.example/a', false],
    ['https://user@files.example.com/a', false],
    ['https://local.example/a', false],
    ['nonsense', false],
    ['https://s3.example:9000/bucket/a.csv?x=/../', true],
    ['https://s3.example:9000/bucket2/a.csv', false],
    ['https://s3.example:9000/bucket', false],
    ['https://s3.example:9000/bucket/../other/a.csv', false],
    ['https://s3.example:9000/bucket/%2E%2e/other/a.csv', false],
    ['https://s3.example:9000/bucket/..%2fother/a.csv', false],
    ['https://s3.example:9000//bucket/a.csv', false],
    ['https://s3.example/bucket/a.csv', false],
  ])('%s: %s', (url, isListed) => {
    expect(isListedUrl(url, entries)).toBe(isListed);
  });
});

describe('hosts whose storage everybody can use', () => {
  test.each([
    's3.eu-central-1.amazonaws.com',
    's3-eu-west-1.amazonaws.com',
    's3.amazonaws.com:443',
    '.s3.eu-central-1.amazonaws.com',
    '.amazonaws.com/bucket/',
    '.blob.core.windows.net',
    'storage.googleapis.com/',
    '.storage.googleapis.com',
    'fra1.digitaloceanspaces.com',
    's3.us-west-1.wasabisys.com',
    '.com',
  ])('%s is refused', (entry) => {
    expect(() => readHosts(entry)).toThrow('everybody can store a file');
  });

  test.each([
    ['S3.eu-central-1.amazonaws.com/Bucket', 's3.eu-central-1.amazonaws.com/Bucket/'],
    ['storage.googleapis.com/bucket/of-ours/', 'storage.googleapis.com/bucket/of-ours/'],
    ['ours.s3.eu-central-1.amazonaws.com', 'ours.s3.eu-central-1.amazonaws.com'],
    ['account.blob.core.windows.net', 'account.blob.core.windows.net'],
    ['s3.ours.example', 's3.ours.example'],
  ])('%s names the bucket', (entry, host) => {
    expect(readHosts(entry)).toEqual([host]);
  });
});

test.each([
  ['7', 7],
  ['0', 0],
  ['Sun, 01 Nov 2026 00:00:30 GMT', 30],
  ['Sat, 31 Oct 2026 00:00:00 GMT', 0],
  ['soon', null],
  ['', null],
  [undefined, null],
])('readRetryAfter reads %j as %j', (header, seconds) => {
  expect(readRetryAfter(header, Date.parse('2026-11-01T00:00:00Z'))).toBe(seconds);
});
