import { MonitorError } from '../errors.ts';
import { acceptsType, addVary, type MonitorRequest } from './exchange.ts';
import type { Monitor } from './monitor.ts';
import type { Respond } from './route.ts';
import type { StreamSpec } from './stream-channel.ts';

/** Answers one URL as JSON, or as a stream of changes (Server-Sent Events) to a client that accepts one. */
export function streamable<Since>(monitor: Monitor, respond: Respond, spec: StreamSpec<Since>): Respond {
  return (request, response) => {
    addVary(response, 'Accept');
    if (request.method === 'HEAD' || !acceptsType(request, 'text/event-stream'))
      return respond(request, response);
    return monitor.streams.open(request, response, spec, lastEventId(request, spec) ?? spec.since);
  };
}

/** Where a client that reconnects continues (HTML Standard, 9.2.4 "The `Last-Event-ID` header"). */
function lastEventId<Since>({ headers }: MonitorRequest, spec: StreamSpec<Since>): Since | null {
  const id = headers['last-event-id'];
  if (typeof id !== 'string' || id === '') return null;
  const since = spec.readSince(id);
  if (since !== null) return since;
  throw new MonitorError('invalid_parameter', 'The header Last-Event-ID is not an id of this stream.', [
    { parameter: 'Last-Event-ID', detail: 'Send the id of the last message, unchanged, or omit it.' },
  ]);
}
