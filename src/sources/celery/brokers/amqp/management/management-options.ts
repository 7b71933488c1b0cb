import type { Agent as HttpAgent } from 'node:http';
import { type KeysOf, refuseUnknownKeys, wrongOption } from '../../../../../check-options.ts';
import {
  basicAuthorization,
  type Login,
  type OptionName,
  readAgent,
  readLogin,
  readTargetUrl,
} from '../../../../../outgoing/target.ts';
import { isRecord } from '../../../../../values.ts';

/** RabbitMQ's management API, and how to request it. */
export interface ManagementOptions {
  /**
   * Where the management plugin listens, `http:` or `https:`, such as `http://rabbit:15672`. A path in it is kept. User
   * and password may be in it; they are never shown. Link-local addresses (169.254/16) and those of cloud metadata
   * services are refused, also when a host name leads to one.
   */
  readonly url: string | URL;
  /** A user with the tag `management` who may use the broker's virtual host. Default: the one in the URL. */
  readonly username?: string;
  /** Its password. Never shown. */
  readonly password?: string;
  /**
   * Agent for the connections. An `Agent` of `node:https` can hold a client certificate or a private CA. Default: a
   * new connection for each reading.
   */
  readonly agent?: HttpAgent;
}

/** Checked {@link ManagementOptions}. Printing or serializing them shows no secret. */
export interface ResolvedManagement {
  /** Scheme, host, port and path, without user, password and query, and without a slash at the end. */
  readonly url: string;
  /** The value of `Authorization`. A function, so that logging the object does not show it. */
  readonly authorization: () => string;
  readonly agent: HttpAgent | null;
}

const KEYS: KeysOf<ManagementOptions> = { url: true, username: true, password: true, agent: true };

const NAME: OptionName = { caller: 'celerySources', group: 'management' };

const EXAMPLE = "'http://rabbit:15672'";

/**
 * Checks the option `management`.
 *
 * @returns `null` when it is absent
 * @throws TypeError that says what to write; it never repeats the URL, a user or a password
 */
export function resolveManagement(option: unknown): ResolvedManagement | null {
  if (option === undefined || option === null) return null;
  const { caller, group } = NAME;
  if (!isRecord(option) || option instanceof URL) {
    const expected = `an object such as { url: ${EXAMPLE}, username: 'monitor', password }`;
    throw wrongOption(caller, group, expected, option);
  }
  refuseUnknownKeys(caller, option, KEYS, `${group}.`, {
    user: 'username',
    vhost: 'it into the URL of the broker',
  });
  const url = readTargetUrl(NAME, option.url, "the management API's whole URL", EXAMPLE);
  const login = loginOf(option, url);
  const authorization = basicAuthorization(login);
  return Object.freeze({
    // The paths of the API follow.
    url: url.origin + url.pathname.replace(/\/(?:api\/?)?$/, ''),
    authorization: () => authorization,
    agent: readAgent(NAME, url, option.agent),
  });
}

function loginOf(option: Readonly<Record<string, unknown>>, url: URL): Login {
  const { caller, group } = NAME;
  const { username, password } = option;
  const inUrl = readLogin(NAME, url);
  if (username === undefined && password === undefined) {
    if (inUrl !== null) return inUrl;
    throw new TypeError(
      `${caller}: '${group}' needs a user of RabbitMQ with the tag management: write username and password.`,
    );
  }
  if (inUrl !== null) {
    throw new TypeError(
      `${caller}: '${group}' has a user in its url and a username or password beside it. Remove one of them.`,
    );
  }
  // A colon would end the user name (RFC 7617).
  if (typeof username !== 'string' || username === '' || username.includes(':')) {
    throw wrongOption(caller, `${group}.username`, 'a string that is not empty and has no colon', username);
  }
  if (typeof password !== 'string') throw wrongOption(caller, `${group}.password`, 'a string', password);
  return { username, password };
}
