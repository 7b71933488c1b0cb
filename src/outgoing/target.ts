/** Options that name an HTTP server of the host's, which this library requests. */
import type { Agent as HttpAgent } from 'node:http';
import { wrongOption } from '../check-options.ts';
import { isForbiddenAddress } from './forbidden-address.ts';

/** An option, for error messages. */
export interface OptionName {
  /** The function that was called. */
  readonly caller: string;
  /** The object that the option is in, such as `metrics`. */
  readonly group: string;
}

/**
 * The URL of a server.
 *
 * @param expected what to write, to follow "must be"
 * @param example a URL in quotes
 * @throws TypeError that never repeats the URL, which may contain a secret
 */
export function readTargetUrl(
  { caller, group }: OptionName,
  value: unknown,
  expected: string,
  example: string,
): URL {
  const option = `${group}.url`;
  const text = value instanceof URL ? value.href : value;
  if (typeof text !== 'string' || !URL.canParse(text)) {
    throw wrongOption(caller, option, `${expected}, such as ${example}`, value);
  }
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`${caller}: '${option}' must begin with http: or https:, such as ${example}.`);
  }
  if (isForbiddenAddress(url.hostname)) {
    throw new TypeError(
      `${caller}: '${option}' must not be a link-local address (169.254/16, fe80::/10), or that of a cloud metadata service, which gives credentials away.`,
    );
  }
  return url;
}

/**
 * User and password of a URL, decoded; `null` without them.
 *
 * @throws TypeError for a broken percent-encoding
 */
export function readLogin({ caller, group }: OptionName, url: URL): Login | null {
  if (url.username === '' && url.password === '') return null;
  try {
    return { username: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    throw new TypeError(
      `${caller}: '${group}.url' has a user or password with a broken percent-encoding. Write % as %25.`,
    );
  }
}

/** Of HTTP's Basic authentication. */
interface Login {
  readonly username: string;
  readonly password: string;
}

/** The value of `Authorization` (RFC 7617): user and password in UTF-8, joined by a colon, in Base64. */
export function basicAuthorization({ username, password }: Login): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}

/** An agent that suits the URL; `null` when it is absent. @throws TypeError */
export function readAgent({ caller, group }: OptionName, url: URL, value: unknown): HttpAgent | null {
  if (value === undefined) return null;
  const option = `${group}.agent`;
  if (!isAgent(value)) {
    throw wrongOption(caller, option, 'an Agent of node:http or node:https', value);
  }
  if ('protocol' in value && typeof value.protocol === 'string' && value.protocol !== url.protocol) {
    const module = `node:${url.protocol.slice(0, -1)}`;
    throw wrongOption(caller, option, `an Agent of ${module}, because of '${group}.url'`, value);
  }
  return value;
}

function isAgent(value: unknown): value is HttpAgent {
  return typeof value === 'object' && value !== null && 'addRequest' in value && 'destroy' in value;
}
