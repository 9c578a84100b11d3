/** Tries the certificate that the service is shown: files, pair and days. */

import { readCertificatePair } from '../../lib/config/certificate-files.ts';
import { NOT_SET, type Settings, SettingsError } from '../../lib/config/settings.ts';
import { SOON_MS } from '../../lib/health/watch-expiry.ts';
import { CliError, EXIT } from '../errors.ts';
import { type Finding, note, ok } from './finding.ts';

const [CERT, KEY] = ['BILLSYNC_CLIENT_CERT', 'BILLSYNC_CLIENT_KEY'] as const;

/** @throws SettingsError, CliError (exit 1) it is not valid now */
export async function checkClientCertificate({
  service,
}: {
  readonly service: Pick<Settings['service'], 'clientCert' | 'clientKey'>;
}): Promise<Finding> {
  const { clientCert, clientKey } = service;
  if (clientCert === null && clientKey === null) return ok('none is set, and only some services ask for one');
  if (clientCert === null || clientKey === null) {
    throw new SettingsError([{ setting: clientCert === null ? CERT : KEY, message: NOT_SET }]);
  }
  const { certificate } = readCertificatePair(
    { setting: CERT, path: clientCert },
    { setting: KEY, path: clientKey },
  );
  const [from, until] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  const name = `${clientCert} (${certificate.subject.replaceAll('\n', ', ')})`;
  if (until.getTime() < Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the certificate that the service is shown has expired', {
      subject: `it was valid until ${until.toISOString()}: ${name}`,
      hint: 'renew it, and start the worker again',
    });
  }
  if (from.getTime() > Date.now()) {
    throw new CliError(EXIT.checkFailed, 'the certificate that the service is shown is not valid yet', {
      subject: `it will be from ${from.toISOString()}: ${name}`,
      hint: 'take one that is valid now, or set the clock of this machine',
    });
  }
  if (until.getTime() - Date.now() < SOON_MS) {
    return note(`${name} ends ${until.toISOString()}`, 'renew it, and start the worker again');
  }
  return ok(`${name}, valid until ${until.toISOString()}`);
}
