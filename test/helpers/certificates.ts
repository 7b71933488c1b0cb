/** Certificates made at the time of the test, by openssl. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { REDIS } from './engines.ts';
import { redisMissing } from './redis-server.ts';

/** Why tests that need TLS cannot run here; `null` when they can. */
export const tlsMissing: string | null = redisMissing ?? missing();

function missing(): string | null {
  if (spawnSync('openssl', ['version']).status !== 0) return 'install openssl';
  // One that is built without TLS does not know the directive; the other asks for a certificate.
  const { stdout } = spawnSync(REDIS, ['--port', '0', '--tls-port', '1'], { timeout: 5000 });
  return String(stdout).includes('tls-cert-file') ? null : 'install a redis-server that speaks TLS';
}

/** Paths of files. */
export interface Certificates {
  readonly ca: string;
  /** Signed by `ca`, for the names `localhost` and 127.0.0.1. */
  readonly server: CertificateAndKey;
  /** Signed by `ca`, for another name. */
  readonly elsewhere: CertificateAndKey;
  /** Signed by `ca`, but its time is over. */
  readonly old: CertificateAndKey;
  readonly client: CertificateAndKey;
  /** A client's, signed by itself. */
  readonly stranger: CertificateAndKey;
  readonly folder: string;
  remove(): void;
}

/** A certificate and its key. */
export interface CertificateAndKey {
  readonly cert: string;
  readonly key: string;
}

/** Makes an authority and what it signs. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-certificates-'));
  const path = (name: string): string => join(folder, name);
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

  function own(name: string): CertificateAndKey {
    const files = { cert: path(`${name}.crt`), key: path(`${name}.key`) };
    openssl(
      'req',
      '-x509',
      ...curve,
      '-days',
      '2',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      files.key,
      '-out',
      files.cert,
    );
    return files;
  }

  function signed(name: string, names: string, days = '2'): CertificateAndKey {
    const files = { cert: path(`${name}.crt`), key: path(`${name}.key`) };
    const request = path(`${name}.csr`);
    openssl('req', ...curve, '-subj', `/CN=${name}`, '-keyout', files.key, '-out', request);
    writeFileSync(path(`${name}.ext`), `subjectAltName=${names}\n`);
    const by = ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial'];
    openssl(
      'x509',
      '-req',
      '-in',
      request,
      ...by,
      '-days',
      days,
      '-extfile',
      path(`${name}.ext`),
      '-out',
      files.cert,
    );
    return files;
  }

  const authority = own('authority');
  const here = 'DNS:localhost,IP:127.0.0.1';
  return {
    ca: authority.cert,
    server: signed('server', here),
    elsewhere: signed('elsewhere', 'DNS:elsewhere.example'),
    old: signed('old', here, '-1'),
    client: signed('client', 'DNS:client'),
    stranger: own('stranger'),
    folder,
    remove: () => rmSync(folder, { recursive: true }),
  };
}

function openssl(...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args);
  if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`);
}
