/** Messages that somebody has made as large, and as slow to decode, as a channel carries. */

/** How a message arrives: an event, an element of a queue, the hash of a job. */
export type Channel = 'amqp' | 'redis' | 'queue' | 'bullmq';

/** The task whose event comes last. */
export const MARKER = 'marker';
export const QUEUE = 'mail';
export const JOB = '7';

/** Text of about this many bytes: members with names that all differ. */
function members(bytes: number): string {
  const parts: string[] = [];
  for (let index = 0, length = 0; length < bytes; index += 1) {
    const part = `, "key-${index}": ${index}`;
    parts.push(part);
    length += part.length;
  }
  return parts.join('');
}

function event(uuid: string, more = ''): string {
  return `{"type": "task-received", "uuid": "${uuid}", "hostname": "w1@alpha", "timestamp": ${Date.now() / 1000}${more}}`;
}

function envelope(body: string): string {
  const packed = Buffer.from(body).toString('base64');
  const rest = '"content-type": "application/json", "headers": {}, "properties": {"body_encoding": "base64"}';
  return `{"body": "${packed}", "content-encoding": "utf-8", ${rest}}`;
}

/** A message of a task. */
function message(id: string, body: string, headers: string): string {
  const named = `"task": "yard.add", "id": "${id}", "root_id": "${id}", "parent_id": null`;
  const packed = Buffer.from(body).toString('base64');
  return (
    `{"body": "${packed}", "content-encoding": "utf-8", "content-type": "application/json", ` +
    `"headers": {${named}${headers}}, "properties": {"body_encoding": "base64", "delivery_tag": "${id}"}}`
  );
}

const PLAIN = '{"callbacks": null, "errbacks": null, "chain": null, "chord": null}';

/** Rows as an app may pass them. */
function rows(bytes: number): string {
  const row = { id: 1_234, name: 'Ada Lovelace', email: 'ada@example.com', tags: ['a', 'b'], amount: 12.5 };
  const text = JSON.stringify(row);
  return `[${Array.from({ length: Math.ceil(bytes / text.length) }, () => text).join(', ')}]`;
}

/** Each message by its title: its channel, and its text of about this many bytes. */
export const MESSAGES: Readonly<Record<string, readonly [Channel, (bytes: number) => string]>> = {
  'RabbitMQ event of many keys': ['amqp', (bytes) => event('large', members(bytes))],
  'RabbitMQ event of arrays in arrays': [
    'amqp',
    (bytes) => `[${event('large', `, "x": ${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`)}]`,
  ],
  'RabbitMQ event, a text of quotes': [
    'amqp',
    (bytes) => event('large', `, "traceback": "${'\\"'.repeat(bytes / 2)}"`),
  ],
  'Redis event of many keys': ['redis', (bytes) => envelope(event('large', members(bytes * 0.74)))],
  'queue message, many headers': ['queue', (bytes) => message('large', `[[], {}, ${PLAIN}]`, members(bytes))],
  'queue message, many arguments': [
    'queue',
    (bytes) => message('large', `[[${rows(bytes * 0.74)}], {}, ${PLAIN}]`, ''),
  ],
  'queue message that announces keys': [
    'queue',
    (bytes) =>
      message(
        'large',
        `[[], {}, {"chain": [{"task": "a", "options": {"x": 1${members(bytes * 0.74)}}}]}]`,
        '',
      ),
  ],
  'BullMQ stack traces, many': [
    'bullmq',
    (bytes) => `[${'"Error: no"'.concat(',"Error: no"'.repeat(bytes / 12))}]`,
  ],
  'BullMQ stack trace, long': [
    'bullmq',
    (bytes) => JSON.stringify([`Error: no\n${'    at f (file.js:1:2)\n'.repeat(bytes / 26)}`]),
  ],
};

/** What comes after a message. */
export const last: Readonly<Record<'amqp' | 'redis' | 'queue', string>> = {
  amqp: event(MARKER),
  redis: envelope(event(MARKER)),
  queue: message(MARKER, `[[], {}, ${PLAIN}]`, ''),
};
