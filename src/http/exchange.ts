/** Request and response: those of Node, with the properties that Express adds when it is used. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request. */
export interface MonitorRequest extends IncomingMessage {
  /** Path and query relative to the mount, undecoded. */
  url?: string;
  /** Where the router is mounted; absent on a plain Node server. */
  baseUrl?: string;
  /** The URL as the client sent it, including the mount path; absent on a plain Node server. */
  originalUrl?: string;
}

/** A response. */
export type MonitorResponse = ServerResponse;

/** Adds a name to `Vary` and keeps the names that the host has set. */
export function addVary(response: MonitorResponse, name: string): void {
  const present = [response.getHeader('Vary') ?? []].flat().join(', ');
  const names = present.split(',').map((one) => one.trim().toLowerCase());
  if (names.includes('*') || names.includes(name.toLowerCase())) return;
  response.setHeader('Vary', present === '' ? name : `${present}, ${name}`);
}

/** Whether `Accept-Encoding` allows gzip (RFC 9110, 12.5.3). */
export function acceptsGzip({ headers }: MonitorRequest): boolean {
  const accepted = [headers['accept-encoding'] ?? []].flat().join(',').toLowerCase().split(',');
  const weightOf = (coding: string): number | null => {
    const item = accepted.find((one) => one.split(';', 1)[0]?.trim() === coding);
    return item === undefined ? null : Number(/;\s*q=([\d.]+)/.exec(item)?.[1] ?? 1);
  };
  return (weightOf('gzip') ?? weightOf('*') ?? 0) > 0;
}
