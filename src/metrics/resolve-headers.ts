import { validateHeaderName, validateHeaderValue } from 'node:http';
import { wrongOption } from '../check-options.ts';
import { basicAuthorization, readLogin } from '../outgoing/target.ts';
import { isRecord } from '../values.ts';

/** Headers that the monitor or HTTP itself sets. A host's value would break the scrape or its safety. */
const OURS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The headers of every scrape: those of the host, and `Authorization` from user and password in the URL.
 *
 * @param caller the function that was called, for messages
 * @throws TypeError that says what to write, without repeating the values
 */
export function resolveHeaders(caller: string, url: URL, value: unknown): Readonly<Record<string, string>> {
  const headers: Record<string, string> = Object.create(null);
  if (value !== undefined) {
    if (!isRecord(value)) {
      throw wrongOption(caller, 'metrics.headers', "an object such as { authorization: 'Bearer …' }", value);
    }
    for (const [name, text] of Object.entries(value)) {
      headers[readName(caller, name)] = readValue(caller, name, text);
    }
  }
  const login = readLogin({ caller, group: 'metrics' }, url);
  if (login !== null) {
    if ('authorization' in headers) {
      throw new TypeError(
        `${caller}: 'metrics' has user and password in its url and an authorization header. Remove one of them.`,
      );
    }
    headers.authorization = basicAuthorization(login);
  }
  return Object.freeze(headers);
}

function readName(caller: string, name: string): string {
  const lower = name.toLowerCase();
  if (OURS.has(lower)) {
    throw new TypeError(`${caller}: 'metrics.headers' must not set '${lower}': the monitor sets it itself.`);
  }
  try {
    validateHeaderName(name);
  } catch {
    throw new TypeError(`${caller}: 'metrics.headers' has a name that is not an HTTP header name.`);
  }
  return lower;
}

function readValue(caller: string, name: string, value: unknown): string {
  if (typeof value !== 'string') throw wrongOption(caller, `metrics.headers.${name}`, 'a string', value);
  try {
    validateHeaderValue(name, value);
  } catch {
    throw new TypeError(`${caller}: 'metrics.headers.${name}' has a character that no header may have.`);
  }
  return value;
}
