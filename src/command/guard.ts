/** Decides who may open the monitor that the command serves. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { MonitorHandlerOptions } from '../node.ts';
import type { Command } from './read-command.ts';

/**
 * Whether the `Host` of a request is this server. A page of another site can make its own name resolve to 127.0.0.1
 * (DNS rebinding) to read the answers, but it cannot do so with an address or with `localhost`.
 */
export function isOwnHost(header: string | undefined, names: readonly string[]): boolean {
  const host = (header ?? '').toLowerCase().replace(/:\d+$/, '');
  return host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0 || names.includes(host);
}

/** HTTP's Basic scheme, with the user `monitor`. A probe needs no password, and then gets no details. */
export function guardOf({
  password,
}: Pick<Command, 'password'>): Pick<MonitorHandlerOptions, 'authorize' | 'health'> {
  if (password === null) return { authorize: false };
  const wanted = digest(`Basic ${Buffer.from(`monitor:${password}`).toString('base64')}`);
  const isKnown = ({ headers }: IncomingMessage): boolean =>
    timingSafeEqual(digest(headers.authorization ?? ''), wanted);
  return {
    authorize: (request, route) =>
      route === 'healthcheck' ||
      isKnown(request) || { status: 401, challenge: 'Basic realm="task monitor", charset="UTF-8"' },
    health: { details: isKnown },
  };
}

/** Gives texts of any length the same length, so that the duration of a comparison reveals nothing. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
