/** Parses the parts of `CLIENT LIST` that identify workers. */
import { asText } from '../../../redis/replies.ts';

/** A connection of some client. */
export interface ClientConnection {
  /** As set by CLIENT SETNAME; empty if none was set. */
  readonly name: string;
  /** Remote host and port. */
  readonly address: string;
  /** Number of its database; `null` if not listed. */
  readonly database: number | null;
  /** Whole seconds since it was opened; `null` if not listed. */
  readonly ageSeconds: number | null;
}

/** The connections that have a name; none if the reply is no such list. */
export function parseClientList(reply: unknown): readonly ClientConnection[] {
  return (asText(reply) ?? '')
    .split('\n')
    .map(connectionOf)
    .filter(({ name }) => name !== '');
}

/** A line is `id=3 addr=127.0.0.1:50000 name=bull:bWFpbA== age=12 db=0 …`; values contain no space. */
function connectionOf(line: string): ClientConnection {
  const fields = new Map<string, string>();
  for (const pair of line.trim().split(' ')) {
    const equals = pair.indexOf('=');
    if (equals > 0) fields.set(pair.slice(0, equals), pair.slice(equals + 1));
  }
  return {
    name: fields.get('name') ?? '',
    address: fields.get('addr') ?? '',
    database: wholeOf(fields.get('db')),
    ageSeconds: wholeOf(fields.get('age')),
  };
}

function wholeOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
