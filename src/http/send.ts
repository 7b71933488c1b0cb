/**
 * Puts answers on the wire. Never through `res.json` or `res.send`: settings of the host (`json spaces`,
 * `etag fn`, …) would change them.
 */

import { createHash } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { type MonitorError, STATUS_OF } from '../errors.ts';
import type { ProblemBody } from '../wire.ts';
import type { MonitorRequest, MonitorResponse } from './exchange.ts';

/** Methods that are answered, for `Allow`. */
export const ALLOWED = 'GET, HEAD, OPTIONS';

/** `Retry-After` in seconds: a moment for an overload, a little longer for what has to come back. */
const RETRY_AFTER = { overloaded: '1', other: '5' };

/** An answer of status 200 that clients may keep and ask about again. */
export interface Document {
  readonly body: Buffer;
  /** Weak, with its quotes. */
  readonly etag: string;
}

/** Sends a 200, or a 304 to a client that has it. */
export function sendDocument(
  request: MonitorRequest,
  response: MonitorResponse,
  { body, etag }: Document,
  link: string | null = null,
): void {
  if (isOver(response)) return;
  setCommon(response, 'private, no-cache');
  response.setHeader('ETag', etag);
  // The host may have links of its own.
  if (link !== null) response.appendHeader('Link', link);
  const known = request.headers['if-none-match'];
  if (known !== undefined && matchesTag(known, etag)) {
    response.removeHeader('Content-Type');
    response.statusCode = 304;
    response.end();
    return;
  }
  response.statusCode = 200;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  sendBody(request, response, body);
}

/** Sends a body that nobody may keep. */
export function sendFresh(
  request: MonitorRequest,
  response: MonitorResponse,
  status: number,
  contentType: string,
  body: Buffer,
): void {
  if (isOver(response)) return;
  setCommon(response, 'no-store');
  response.statusCode = status;
  response.setHeader('Content-Type', contentType);
  sendBody(request, response, body);
}

/** Sends an error as `application/problem+json` (RFC 9457). */
export function sendProblem(
  request: MonitorRequest,
  response: MonitorResponse,
  error: MonitorError,
  challenge: string | null = null,
): void {
  if (isOver(response)) return;
  const status = STATUS_OF[error.code];
  if (status === 503) {
    const seconds = error.code === 'overloaded' ? RETRY_AFTER.overloaded : RETRY_AFTER.other;
    response.setHeader('Retry-After', seconds);
  }
  if (status === 405) response.setHeader('Allow', ALLOWED);
  if (challenge !== null) response.setHeader('WWW-Authenticate', challenge);
  const problem: ProblemBody = {
    // The status says what kind it is; `code` says it more finely.
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: error.message,
    code: error.code,
  };
  if (error.faults.length > 0) problem.errors = [...error.faults];
  const body = Buffer.from(JSON.stringify(problem));
  sendFresh(request, response, status, 'application/problem+json', body);
}

/** Sends headers alone: 204 and 308. */
export function sendEmpty(
  response: MonitorResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  if (isOver(response)) return;
  setCommon(response, 'no-store');
  // The host may have set one for what it thought would follow.
  response.removeHeader('Content-Type');
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  // A 204 must not have it (RFC 9110, 8.6).
  if (status !== 204) response.setHeader('Content-Length', 0);
  response.statusCode = status;
  response.end();
}

/** A weak entity tag (RFC 9110, 8.8.3) of texts. */
export function tagOf(...texts: readonly string[]): string {
  const hash = createHash('sha1');
  for (const text of texts) hash.update(text).update('\n');
  return `W/"${hash.digest('base64url')}"`;
}

/** `If-None-Match` compares weakly (RFC 9110, 13.1.2). */
export function matchesTag(header: string, etag: string): boolean {
  if (header === etag) return true;
  const opaque = etag.slice(2);
  return header.split(',').some((item) => {
    const tag = item.trim();
    return tag === '*' || tag === etag || tag === opaque;
  });
}

/** Whether there is nothing left to answer: the host has answered, or the client has gone. */
export function isOver(response: MonitorResponse): boolean {
  return response.headersSent || response.writableEnded || response.destroyed;
}

function setCommon(response: MonitorResponse, cacheControl: string): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  response.setHeader('Cache-Control', cacheControl);
}

function sendBody(request: MonitorRequest, response: MonitorResponse, body: Buffer): void {
  response.setHeader('Content-Length', body.length);
  if (request.method === 'HEAD') response.end();
  else response.end(body);
}
