/** Celery's TLS settings (kombu/transport/redis.py, celery/backends/redis.py, redis-py, py-amqp). */
import { readFileSync } from 'node:fs';
import { wrongOption } from './check-options.ts';
import { isRecord } from './values.ts';

/** TLS options of a connection, under Node's names. */
export interface TlsOptions {
  readonly rejectUnauthorized: boolean;
  readonly checkHostname: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Parameters named `ssl_…`. */
export interface TlsParameters {
  /** The option that they were given in, for error messages. */
  readonly option: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Python's `ssl.CERT_NONE`, `CERT_OPTIONAL` and `CERT_REQUIRED`. */
const REQUIREMENTS = ['none', 'optional', 'required'];

/**
 * The parameters of a setting such as `broker_use_ssl`: an object, or `true` for the defaults.
 *
 * @returns `null` (no TLS) for anything else and, as in Python, for an empty object
 */
export function tlsSetting(value: unknown, option: string): TlsParameters | null {
  if (value === true) return { option, values: {} };
  if (!isRecord(value) || Object.keys(value).length === 0) return null;
  return { option, values: { ...value } };
}

/**
 * Resolves the parameters. If several tables have one, the first table wins. Without `ssl_cert_reqs`,
 * certificates are checked; Celery 5.2 does not check those of a broker.
 *
 * @throws TypeError that says what to write; it never contains the content of a file
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
  // redis-py treats None as CERT_NONE.
  if (value === null) return 'none';
  const name =
    typeof value === 'number'
      ? REQUIREMENTS[value]
      : String(value)
          .toLowerCase()
          .replace(/^cert_/, '');
  if (name !== undefined && REQUIREMENTS.includes(name)) return name;
  throw wrongOption('celerySources', `${option}.ssl_cert_reqs`, "'required', 'optional' or 'none'", value);
}

function certificate(tables: readonly TlsParameters[], name: string): string | null {
  const found = find(tables, name);
  if (found === null || found.value === null || found.value === '') return null;
  const { value, option } = found;
  if (typeof value !== 'string') {
    throw wrongOption('celerySources', `${option}.${name}`, 'the path of a file', value);
  }
  try {
    return readFileSync(value, 'utf8');
  } catch {
    throw new TypeError(`celerySources: '${option}.${name}' names a file that cannot be read.`);
  }
}
