/** Requests of RabbitMQ's management API. */
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { describeAmqpError } from '../../../../../amqp/problems.ts';
import { refuseForbidden } from '../../../../../outgoing/forbidden-socket.ts';
import { ServerError } from '../../../../../server-problems.ts';
import type { ResolvedManagement } from './management-options.ts';

/** Why the management API could not be read. The message has no address, user or password. */
export class ManagementError extends ServerError {
  override readonly name = 'ManagementError';
}

/** What one request may take. */
export interface RequestLimits {
  /** Ends the request. */
  readonly signal: AbortSignal;
  /** Most bytes of the body. */
  readonly maxBytes: number;
}

const SENTENCES = {
  ECONNREFUSED:
    'Nothing listens at the address of the management API: is the plugin rabbitmq_management enabled?',
  TimeoutError: 'The management API does not answer in time.',
  FORBIDDEN: 'The address of the management API leads to a link-local address or a metadata service.',
  WRONGPASS: 'The management API refuses the user name or password.',
  NOPERM:
    'The user of the management API lacks the tag management, or a right to the virtual host of the broker.',
  NOTFOUND: "The management API does not know the broker's virtual host.",
  REDIRECT: 'The management API redirects, and redirects are not followed: write the target address.',
  TOOLARGE: 'The answer of the management API is too large.',
  INVALID: 'The server at that address is not the management API of RabbitMQ.',
} as const;

type ProblemCode = keyof typeof SENTENCES;

/** The error for one of these problems. */
export function managementError(code: ProblemCode): ManagementError {
  return new ManagementError({ code, sentence: SENTENCES[code] });
}

/**
 * Gets JSON over a connection of its own. Follows no redirect.
 *
 * @param path begins with a slash
 * @returns the parsed body, and its length in bytes
 * @throws ManagementError
 */
export function getJson(
  { url, authorization, agent }: ResolvedManagement,
  path: string,
  { signal, maxBytes }: RequestLimits,
): Promise<{ readonly value: unknown; readonly bytes: number }> {
  const send = url.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    let request: ClientRequest;
    const fail = (problem: ProblemCode | ManagementError): void => {
      reject(typeof problem === 'string' ? managementError(problem) : problem);
      request.destroy();
    };
    request = send(`${url}${path}`, {
      headers: { accept: 'application/json', 'accept-encoding': 'identity', authorization: authorization() },
      agent: agent ?? false,
    });
    const end = (): void => fail('TimeoutError');
    signal.addEventListener('abort', end, { once: true });
    request.once('close', () => {
      signal.removeEventListener('abort', end);
      fail('INVALID');
    });
    request.once('socket', () => refuseForbidden(request, () => fail('FORBIDDEN')));
    request.on('error', (error) => fail(networkProblem(error)));
    request.once('response', (response) => readBody(response, maxBytes, resolve, fail));
    if (signal.aborted) end();
    else request.end();
  });
}

function readBody(
  response: IncomingMessage,
  maxBytes: number,
  done: (body: { readonly value: unknown; readonly bytes: number }) => void,
  fail: (code: ProblemCode) => void,
): void {
  response.on('error', () => fail('INVALID'));
  const isRefused = response.statusCode === 401 || response.statusCode === 403;
  const fault = isRefused ? null : faultOf(response, maxBytes);
  if (fault !== null) {
    fail(fault);
    return;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) fail('TOOLARGE');
    else chunks.push(chunk);
  });
  response.on('end', () => {
    if (!response.complete) {
      fail('INVALID');
      return;
    }
    try {
      const text = Buffer.concat(chunks).toString('utf8');
      if (isRefused) fail(/login failed/i.test(text) ? 'WRONGPASS' : 'NOPERM');
      else done({ value: JSON.parse(text), bytes });
    } catch {
      fail('INVALID');
    }
  });
}

function faultOf({ statusCode = 0, headers }: IncomingMessage, maxBytes: number): ProblemCode | null {
  if (statusCode === 404) return 'NOTFOUND';
  if (statusCode >= 300 && statusCode < 400) return 'REDIRECT';
  if (statusCode !== 200 || headers['content-encoding'] !== undefined) return 'INVALID';
  return Number(headers['content-length'] ?? 0) > maxBytes ? 'TOOLARGE' : null;
}

function networkProblem(error: NodeJS.ErrnoException): ProblemCode | ManagementError {
  if (error.code === 'ECONNREFUSED') return 'ECONNREFUSED';
  if (error.code?.startsWith('HPE_') === true) return 'INVALID';
  const { code, sentence } = describeAmqpError(error);
  return new ManagementError({ code, sentence: `The management API cannot be reached. ${sentence}` });
}
