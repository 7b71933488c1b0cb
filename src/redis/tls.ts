/** TLS settings as Celery names them (kombu/transport/redis.py, celery/backends/redis.py, redis-py). */
import { readFileSync } from 'node:fs';

/** How a connection is encrypted, in Node's terms. */
export interface TlsOptions {
  readonly rejectUnauthorized: boolean;
  readonly checkHostname: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Parameters that begin with `ssl_`, and the option they were given in. */
export interface TlsParameters {
  readonly option: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Python's `ssl.CERT_NONE`, `CERT_OPTIONAL` and `CERT_REQUIRED`. */
const REQUIREMENTS = ['none', 'optional', 'required'];

/**
 * A setting such as `broker_use_ssl`: a table, or `true` for the defaults. As in Python, an empty table means no
 * TLS.
 */
export function tlsSetting(value: unknown, option: string): TlsParameters | null {
  if (value === true) return { option, values: {} };
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return null;
  return { option, values: { ...value } };
}

/**
 * Reads the parameters; the first table that has a parameter decides. Without `ssl_cert_reqs`, certificates are
 * checked, unlike in Celery 5.2 for a broker.
 *
 * @throws TypeError that says what to write; it never holds the content of a file
 */
export function tlsOptions(tables: readonly TlsParameters[]): TlsOptions {
  const ca = certificate(tables, 'ssl_ca_certs');
  const cert = certificate(tables, 'ssl_certfile');
  const key = certificate(tables, 'ssl_keyfile');
  return {
    rejectUnauthorized: requirement(tables) !== 'none',
    checkHostname: !/^(false|0|no)$/i.test(String(find(tables, 'ssl_check_hostname')?.value)),
    ...(ca === null ? {} : { ca }),
    ...(cert === null ? {} : { cert }),
    ...(key === null ? {} : { key }),
  };
}

function find(tables: readonly TlsParameters[], name: string): { value: unknown; option: string } | null {
  for (const { option, values } of tables) {
    if (Object.hasOwn(values, name) && values[name] !== undefined) return { value: values[name], option };
  }
  return null;
}

function requirement(tables: readonly TlsParameters[]): string {
  const found = find(tables, 'ssl_cert_reqs');
  if (found === null) return 'required';
  const { value, option } = found;
  // redis-py takes None for CERT_NONE.
  if (value === null) return 'none';
  const name =
    typeof value === 'number'
      ? REQUIREMENTS[value]
      : String(value)
          .toLowerCase()
          .replace(/^cert_/, '');
  if (name !== undefined && REQUIREMENTS.includes(name)) return name;
  throw new TypeError(`celerySources: ssl_cert_reqs in ${option} must be required, optional or none.`);
}

function certificate(tables: readonly TlsParameters[], name: string): string | null {
  const found = find(tables, name);
  if (found === null || found.value === null || found.value === '') return null;
  const { value, option } = found;
  if (typeof value !== 'string') {
    throw new TypeError(`celerySources: ${name} in ${option} must be the path of a file.`);
  }
  try {
    return readFileSync(value, 'utf8');
  } catch {
    throw new TypeError(`celerySources: the file that ${name} in ${option} names cannot be read.`);
  }
}
