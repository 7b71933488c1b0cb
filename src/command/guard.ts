/** Decides who may open the monitor that the command serves. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Refusal, RouteName } from '../node.ts';
import type { Command } from './read-command.ts';

/**
 * Whether the `Host` of a request is this server. A page of another site can make its own name resolve to 127.0.0.1
 * (DNS rebinding) to read the answers, but it cannot do so with an address or with `localhost`.
 */
export function isOwnHost(header: string | undefined, names: readonly string[]): boolean {
  const host = (header ?? '').toLowerCase().replace(/:\d+$/, '');
  return host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || names.includes(host);
}

/** The `authorize` of the command: HTTP's Basic scheme, with the user `monitor`. A probe needs no password. */
export function guardOf({ password }: Pick<Command, 'password'>) {
  if (password === null) return false;
  const wanted = digest(`Basic ${Buffer.from(`monitor:${password}`).toString('base64')}`);
  return ({ headers }: IncomingMessage, route: RouteName): true | Refusal =>
    route === 'healthcheck' ||
    timingSafeEqual(digest(headers.authorization ?? ''), wanted) || {
      status: 401,
      challenge: 'Basic realm="task monitor", charset="UTF-8"',
    };
}

/** Gives texts of any length the same length, so that the duration of a comparison reveals nothing. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
