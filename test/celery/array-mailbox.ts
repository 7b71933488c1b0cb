/** Remote control without a broker: a test plays the workers. */
import type { Mailbox, ReplyMessage } from '../../src/sources/celery/broker.ts';

/** A request as workers receive it. */
export interface ArrayRequest {
  readonly method: string;
  /** Names of the workers that shall reply; `null`: all. */
  readonly destination: readonly string[] | null;
}

/** What a worker replies, and how late. */
export interface ArrayReply extends Partial<ReplyMessage> {
  /** The value of a reply in JSON. Default `{}`. Ignored if there is a `body`. */
  readonly value?: unknown;
  /** Milliseconds after the request. Default 0: with the next turn. */
  readonly afterMs?: number;
}

/** A mailbox that remembers what it sent. */
export interface ArrayMailbox extends Mailbox {
  readonly requests: readonly ArrayRequest[];
}

/**
 * @param workers what each worker replies to a request, `null`: nothing. Workers may come and go
 * @param receivers how many connections receive a request; `null`: the transport does not tell
 */
export function createArrayMailbox(
  workers: Record<string, (request: ArrayRequest) => ArrayReply | null>,
  receivers: number | null = null,
): ArrayMailbox {
  const requests: ArrayRequest[] = [];
  return {
    fault: null,
    requests,
    async send(request, _timeoutMs, listener) {
      const asked = JSON.parse(request.body('replies', 'me')) as ArrayRequest;
      requests.push(asked);
      for (const [name, answer] of Object.entries(workers)) {
        const reply = asked.destination?.includes(name) === false ? null : answer(asked);
        if (reply === null) continue;
        const body =
          reply.body ?? Buffer.from(JSON.stringify({ [name]: 'value' in reply ? reply.value : {} }));
        const message = { contentType: 'application/json', isCompressed: false, ...reply, body };
        const deliver = (): void => void listener.onReply(message);
        if (reply.afterMs === undefined) setImmediate(deliver);
        else setTimeout(deliver, reply.afterMs);
      }
      return { receivers, end() {} };
    },
    close: async () => {},
  };
}
