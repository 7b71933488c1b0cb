/** What is bound to exchanges, as kombu keeps it in Redis: where messages of a routing key went. */

/** One member of the set of an exchange. */
export interface Binding {
  readonly pattern: string;
  readonly queue: string;
}

/**
 * Reads a member: routing key, pattern as a regular expression, queue.
 *
 * @returns `null` when it is none, or of a queue that holds no tasks
 */
export function readBinding(member: string, sep: string): Binding | null {
  const parts = member.split(sep);
  const [pattern, , queue] = parts;
  if (parts.length !== 3 || pattern === undefined || queue === undefined || !isTaskQueue(queue)) return null;
  return { pattern, queue };
}

/** Queues of remote control and of events are made for each process and hold no tasks. */
export function isTaskQueue(name: string): boolean {
  return name !== '' && name.length <= 512 && !name.endsWith('.pidbox') && !/^celeryev\./.test(name);
}

/** The only queue that messages with this routing key went to; `null` when there are several, or none. */
export function boundQueue(bindings: readonly Binding[], routingKey: string): string | null {
  const queues = new Set<string>();
  for (const { pattern, queue } of bindings) if (matches(pattern, routingKey)) queues.add(queue);
  const [queue] = queues;
  return queues.size === 1 ? (queue ?? null) : null;
}

/** Longer routing keys than AMQP has. */
const MAX_LENGTH = 255;

/**
 * Whether a pattern of a topic exchange covers a routing key: `*` stands for one word, `#` for any
 * number. In steps that grow with the length of both and no faster, since others write them.
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
