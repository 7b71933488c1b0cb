/** Request and response: those of Node, with the properties that Express adds when it is used. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OnLeave } from '../read.ts';
import { targetBelow } from './path.ts';

/** A request. Its `url` is relative to the path at which the host has mounted the monitor. */
export interface MonitorRequest extends IncomingMessage {
  /** Where Express has mounted the monitor; other hosts do not set it. */
  baseUrl?: string;
  /** The URL that the server received, including the mount path; set by Express and connect. */
  originalUrl?: string;
}

/** A response. */
export type MonitorResponse = ServerResponse;

/** Path and query below the monitor's path, undecoded; `null` when the request is for another path. */
export function targetOf({ url = '/', originalUrl = url }: MonitorRequest, basePath: string): string | null {
  return basePath === '' ? url : targetBelow(basePath, originalUrl);
}

/** The path at which the host has mounted the monitor, such as `/monitor`; `''` at the root. */
export function mountPathOf({ baseUrl, url = '', originalUrl = url }: MonitorRequest): string {
  if (baseUrl !== undefined) return baseUrl;
  return originalUrl.endsWith(url) ? originalUrl.slice(0, originalUrl.length - url.length) : '';
}

/** Adds a name to `Vary` and keeps the names that the host has set. */
export function addVary(response: MonitorResponse, name: string): void {
  const present = [response.getHeader('Vary') ?? []].flat().join(', ');
  const names = present.split(',').map((one) => one.trim().toLowerCase());
  if (names.includes('*') || names.includes(name.toLowerCase())) return;
  response.setHeader('Vary', present === '' ? name : `${present}, ${name}`);
}

/** The first of these codings that `Accept-Encoding` allows (RFC 9110, 12.5.3); `null`: none. */
export function acceptedCoding<const Coding extends string>(
  { headers }: MonitorRequest,
  codings: readonly Coding[],
): Coding | null {
  const accepted = [headers['accept-encoding'] ?? []].flat().join(',').toLowerCase().split(',');
  const weightOf = (coding: string): number | null => {
    const item = accepted.find((one) => one.split(';', 1)[0]?.trim() === coding);
    return item === undefined ? null : Number(/;\s*q=([\d.]+)/.exec(item)?.[1] ?? 1);
  };
  return codings.find((coding) => (weightOf(coding) ?? weightOf('*') ?? 0) > 0) ?? null;
}

/** Whether `Accept` names this type: wildcards mean JSON. */
export function acceptsType({ headers: { accept = '' } }: MonitorRequest, type: string): boolean {
  const isRefused = (item: string): boolean => /;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(item);
  const items = accept.split(',').filter((item) => item.split(';', 1)[0]?.trim().toLowerCase() === type);
  return items.some((item) => !isRefused(item));
}

/** Whether the client has disconnected. A response of HTTP/2 has no `destroyed`, but its stream does. */
export function isGone(
  response: MonitorResponse & { readonly stream?: { readonly destroyed: boolean } },
): boolean {
  return response.destroyed || response.stream?.destroyed === true;
}

/** Calls listeners when the client disconnects before the response is sent. */
export function onLeave(response: MonitorResponse): OnLeave {
  return (listener) => {
    if (isGone(response)) {
      listener();
      return () => {};
    }
    response.once('close', listener);
    return () => void response.off('close', listener);
  };
}
