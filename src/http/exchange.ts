/**
 * Request and response: those of Node, with the properties that Express adds when it is used. Sending does not use
 * `res.json` or `res.send`: settings of the host (`json spaces`, `etag fn`, …) would change the body.
 */
import { createHash } from 'node:crypto';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type MonitorError, STATUS_OF } from '../errors.ts';
import type { OnLeave } from '../read.ts';
import { type Steps, scheduler } from '../scheduler.ts';
import type { ProblemBody } from '../wire.ts';

/** A request. Its `url` is relative to the path at which the host has mounted the monitor. */
export interface MonitorRequest extends IncomingMessage {
  /** Where Express has mounted the monitor; other hosts do not set it. */
  baseUrl?: string;
  /** The URL that the server received, including the mount path; set by Express and connect. */
  originalUrl?: string;
}

/** A response. */
export type MonitorResponse = ServerResponse;

/** Answers one request. A thrown MonitorError is sent as a problem; any other error is a bug of this library. */
export type Respond = (request: MonitorRequest, response: MonitorResponse) => void | Promise<void>;

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

/** Value of `Allow`. */
export const ALLOWED = 'GET, HEAD, OPTIONS';

/** Documents from this size are sent in turns: many clients may have waited for the same one. */
const LARGE_BYTES = 65_536;

const JSON_TYPE = 'application/json; charset=utf-8';

/** A 200 response that clients may cache and revalidate. */
export interface Document {
  readonly body: Buffer;
  /** A weak entity tag, with its quotes. */
  readonly etag: string;
}

/** Sends a 200, or a 304 to a client that has this version. */
export function sendDocument(
  request: MonitorRequest,
  response: MonitorResponse,
  { body, etag }: Document,
  link: string | null = null,
): void | Promise<void> {
  if (isOver(response)) return;
  setCommon(response, 'private, no-cache');
  // Keep the links that the host has set.
  if (link !== null) response.appendHeader('Link', link);
  if (sendUnchanged(request, response, etag)) return;
  if (body.length < LARGE_BYTES) return sendBody(request, response, 200, JSON_TYPE, body);
  return scheduler.run('send', sendInTurn(request, response, body));
}

// biome-ignore lint/correctness/useYield: a body is written at once, but the next one perhaps in the next turn
function* sendInTurn(request: MonitorRequest, response: MonitorResponse, body: Buffer): Steps<void> {
  if (!isOver(response)) sendBody(request, response, 200, JSON_TYPE, body);
}

const pack = promisify(gzip);

/**
 * Sends the same, compressed for a client that accepts gzip. Only for bodies that repeat nothing of the request: the
 * length of others could tell a stranger what else is in them.
 */
export async function sendPacked(
  request: MonitorRequest,
  response: MonitorResponse,
  { body, etag }: Document,
): Promise<void> {
  const isPacked = acceptedCoding(request, ['gzip']) !== null && !hasTag(request, etag);
  const sent = isPacked ? await pack(body) : body;
  if (isOver(response)) return;
  addVary(response, 'Accept-Encoding');
  if (isPacked) response.setHeader('Content-Encoding', 'gzip');
  await sendDocument(request, response, { body: sent, etag });
}

/** Sets the `ETag`. Sends a 304 to a client that has this version. @returns whether it has answered */
export function sendUnchanged(request: MonitorRequest, response: MonitorResponse, etag: string): boolean {
  response.setHeader('ETag', etag);
  if (!hasTag(request, etag)) return false;
  response.removeHeader('Content-Type');
  response.statusCode = 304;
  response.end();
  return true;
}

/** Sends a body that must not be cached. */
export function sendFresh(
  request: MonitorRequest,
  response: MonitorResponse,
  status: number,
  contentType: string,
  body: Buffer,
): void {
  if (isOver(response)) return;
  setCommon(response, 'no-store');
  sendBody(request, response, status, contentType, body);
}

/** Sends an error as `application/problem+json` (RFC 9457). */
export function sendProblem(
  request: MonitorRequest,
  response: MonitorResponse,
  error: MonitorError,
  challenge?: string,
): void {
  if (isOver(response)) return;
  setProblemHeaders(response, error, challenge);
  const body = Buffer.from(JSON.stringify(problemOf(error)));
  sendFresh(request, response, STATUS_OF[error.code], 'application/problem+json', body);
}

/** An error as a body. */
export function problemOf({ code, message, faults }: MonitorError): ProblemBody {
  const status = STATUS_OF[code];
  return {
    // No type of our own: status and `code` identify the problem.
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: message,
    code,
    ...(faults.length > 0 && { errors: [...faults] }),
  };
}

/** Sets the headers that belong to an error, whatever the type of the body. */
export function setProblemHeaders(
  response: MonitorResponse,
  { code }: MonitorError,
  challenge?: string,
): void {
  const status = STATUS_OF[code];
  if (status === 503) {
    // In seconds: an overload ends sooner than an outage.
    response.setHeader('Retry-After', code === 'overloaded' ? '1' : '5');
  }
  if (status === 405) response.setHeader('Allow', ALLOWED);
  if (challenge !== undefined) response.setHeader('WWW-Authenticate', challenge);
}

/** Sends a response without a body: 204 and 308. */
export function sendEmpty(
  response: MonitorResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  if (isOver(response)) return;
  setCommon(response, 'no-store');
  // The host may have set one for a body.
  response.removeHeader('Content-Type');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // A 204 must not have a Content-Length (RFC 9110, 8.6).
  if (status !== 204) response.setHeader('Content-Length', 0);
  response.statusCode = status;
  response.end();
}

/** The weak entity tag (RFC 9110, 8.8.3) of some texts. */
export function tagOf(...texts: readonly string[]): string {
  const hash = createHash('sha1');
  for (const text of texts) hash.update(text).update('\n');
  return `W/"${hash.digest('base64url')}"`;
}

/** Whether `If-None-Match` contains this tag; the comparison is weak (RFC 9110, 13.1.2). */
function hasTag({ headers: { 'if-none-match': header } }: MonitorRequest, etag: string): boolean {
  if (header === undefined) return false;
  if (header === etag) return true;
  if (header.trim() === '*') return true;
  // A tag may contain commas.
  const opaque = etag.slice(2);
  return header.match(/"[^"]*"/g)?.includes(opaque) === true;
}

/** Whether nothing can be sent: the host has answered, or the client has disconnected. */
export function isOver(response: MonitorResponse): boolean {
  return response.headersSent || response.writableEnded || isGone(response);
}

/** Sets the headers of every response. */
export function setCommon(response: MonitorResponse, cacheControl: string): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', cacheControl);
}

/** Sends status, type, length and, unless only the headers are requested, the body. */
export function sendBody(
  request: MonitorRequest,
  response: MonitorResponse,
  status: number,
  contentType: string,
  body: Buffer,
): void {
  response.statusCode = status;
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', body.length);
  if (request.method === 'HEAD') response.end();
  else response.end(body);
}
