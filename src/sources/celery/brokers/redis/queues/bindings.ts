/**
 * Bindings of queues to exchanges, as kombu stores them in Redis. They show which queue a routing key leads to.
 */

/** One member of an exchange's set. */
export interface Binding {
  readonly pattern: string;
  readonly queue: string;
}

/**
 * Parses a member: routing key, pattern as a regular expression, queue.
 *
 * @returns `null` if it is invalid, or its queue has no tasks
 */
export function readBinding(member: string, sep: string): Binding | null {
  const parts = member.split(sep);
  const [pattern, , queue] = parts;
  if (parts.length !== 3 || pattern === undefined || queue === undefined || !isTaskQueue(queue)) return null;
  return { pattern, queue };
}

/**
 * Whether a queue can have tasks. Queues of remote control and of events are made per process and have none.
 */
export function isTaskQueue(name: string): boolean {
  return name !== '' && name.length <= 512 && !name.endsWith('.pidbox') && !/^celeryev\./.test(name);
}

/** The only queue that this routing key leads to; `null` if there are several or none. */
export function boundQueue(bindings: readonly Binding[], routingKey: string): string | null {
  const queues = new Set<string>();
  for (const { pattern, queue } of bindings) if (matches(pattern, routingKey)) queues.add(queue);
  const [queue] = queues;
  return queues.size === 1 ? (queue ?? null) : null;
}

/** Longest pattern and routing key to match, which is the limit of AMQP. */
const MAX_LENGTH = 255;

/**
 * Whether a pattern of a topic exchange matches a routing key: `*` stands for one word, `#` for any number of
 * words. Takes time proportional to the product of both lengths at most, since the patterns come from outside.
 */
function matches(pattern: string, key: string): boolean {
  if (pattern === key) return true;
  if (!/[*#]/.test(pattern) || pattern.length > MAX_LENGTH || key.length > MAX_LENGTH) return false;
  const words = key.split('.');
  let reached: boolean[] = [true, ...words.map(() => false)];
  for (const part of pattern.split('.')) {
    const next = reached.map(() => false);
    for (let at = 0; at <= words.length; at += 1) {
      if (part === '#') next[at] = reached[at] === true || next[at - 1] === true;
      else next[at] = reached[at - 1] === true && (part === '*' || part === words[at - 1]);
    }
    reached = next;
  }
  return reached.at(-1) === true;
}
