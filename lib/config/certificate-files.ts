import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { messageOf, withPathInErrors } from '../system-errors.ts';
import { SettingsError } from './settings.ts';

export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
  readonly certificate: X509Certificate;
}

interface NamedFile {
  readonly setting: string;
  readonly path: string;
}

export function readCertificatePair(cert: NamedFile, key: NamedFile): CertificatePair {
  const [certText, keyText] = [readNamed(cert), readNamed(key)];
  const certificate = parsed(cert, 'a certificate', () => new X509Certificate(certText));
  const privateKey = parsed<KeyObject>(key, 'a private key without a passphrase', () =>
    createPrivateKey(keyText),
  );
  if (certificate.checkPrivateKey(privateKey)) return { cert: certText, key: keyText, certificate };
  throw refused(key, `${key.path} is not the key of the certificate in ${cert.setting}`);
}

export function readAuthorities(file: NamedFile): string {
  const text = readNamed(file);
  parsed(file, 'a certificate', () => new X509Certificate(text));
  return text;
}

function readNamed(file: NamedFile): string {
  try {
    return withPathInErrors(file.path, () => readFileSync(file.path, 'utf8'));
  } catch (error) {
    throw refused(file, `cannot be read: ${messageOf(error)}`);
  }
}

function parsed<T>(file: NamedFile, what: string, parse: () => T): T {
  try {
    return parse();
  } catch {
    throw refused(file, `must name a PEM file with ${what}; ${file.path} holds none`);
  }
}

function refused({ setting }: NamedFile, message: string): SettingsError {
  return new SettingsError([{ setting, message }]);
}
