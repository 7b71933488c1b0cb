/** Who may look at the monitor that the command serves. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Refusal, RouteName } from '../node.ts';
import type { Command } from './read-command.ts';

/**
 * Whether a request names this server. A page of another site can make its own name lead to 127.0.0.1 (DNS
 * rebinding) and would then read the answers; it cannot do so with an address, nor with `localhost`.
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

/** Texts of any length become equally long, so that comparing them tells nothing about either. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
