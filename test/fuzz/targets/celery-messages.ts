/** What Celery publishes and stores: events, results, groups, messages in queues, replies of workers. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { unwrapReply } from '../../../src/sources/celery/brokers/redis/control-envelope.ts';
import { deliverMessage } from '../../../src/sources/celery/brokers/redis/events.ts';
import { boundQueue, readBinding } from '../../../src/sources/celery/brokers/redis/queues/bindings.ts';
import { heldItems, startOf } from '../../../src/sources/celery/control/held-tasks.ts';
import { proofOf } from '../../../src/sources/celery/control/proof.ts';
import { decodeReply } from '../../../src/sources/celery/control/reply.ts';
import { workerFactsOf } from '../../../src/sources/celery/control/worker-facts.ts';
import { takeTaken, takeWaiting, tellAmidGood } from '../deployment.ts';
import { anyValue, base64, bytes, longText, pythonJson, text } from '../inputs.ts';
import { misfit, mutated } from '../mutations.ts';
import { EVENT_MESSAGES, EVENTS, GROUPS, REPLIES, RESULTS, TAKEN, WAITING } from '../seeds.ts';
import { defineTarget } from '../target.ts';

const FOLDER = 'sources/celery';
/** Messages that are told to one deployment. */
const BATCH = { minLength: 40, maxLength: 40 };

function parsed(seeds: readonly string[]): unknown[] {
  return seeds.flatMap((seed) => {
    try {
      return [JSON.parse(seed) as unknown];
    } catch {
      // What only Python reads is a seed of the mutated texts.
      return [];
    }
  });
}

/** Texts and values in the place of what `seeds` are. */
function hostile(seeds: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: mutated(seeds) },
    { weight: 6, arbitrary: misfit(parsed(seeds)).map(pythonJson) },
    { weight: 1, arbitrary: anyValue.map(pythonJson) },
    { weight: 1, arbitrary: fc.oneof(bytes, text) },
  );
}

const someId = fc.oneof(fc.constantFrom('a', '__proto__', 'constructor', ''), text);

/** The envelope around a body of anything. */
function enveloped(body: fc.Arbitrary<string>, seeds: readonly string[]): fc.Arbitrary<string> {
  const envelopes = parsed(seeds) as Record<string, unknown>[];
  return fc
    .tuple(
      fc.constantFrom(...envelopes),
      body,
      fc.constantFrom(base64, (plain: string) => plain),
    )
    .map(([envelope, inner, pack]) => pythonJson({ ...envelope, body: pack(inner) }));
}

const oneEvent = fc.oneof(misfit(EVENTS), anyValue);
const eventBody = fc.oneof(
  { weight: 3, arbitrary: oneEvent.map(pythonJson) },
  { weight: 2, arbitrary: fc.array(oneEvent, { maxLength: 5 }).map(pythonJson) },
  { weight: 2, arbitrary: mutated(EVENTS.map((event) => JSON.stringify(event))) },
);

export const eventTarget = defineTarget({
  name: 'Celery events',
  share: 20,
  covers: ['envelope', 'events', 'worker-events', 'exceptions', 'intake', 'python-json'].map(
    (file) => `${FOLDER}/${file}.ts`,
  ),
  inputs: fc.array(
    fc.oneof(
      { weight: 1, arbitrary: hostile(EVENT_MESSAGES) },
      { weight: 3, arbitrary: enveloped(eventBody, EVENT_MESSAGES) },
    ),
    BATCH,
  ),
  casesPerInput: BATCH.maxLength,
  check: (messages) =>
    tellAmidGood(({ intake }) => {
      for (const message of messages) deliverMessage(message, intake.events);
    }),
});

export const resultTarget = defineTarget({
  name: 'Celery results',
  share: 20,
  covers: ['results', 'json-text', 'exceptions', 'result-nodes'].map(
    (file) => `${FOLDER}/protocol/${file}.ts`,
  ),
  inputs: fc.array(fc.tuple(hostile(RESULTS), someId), BATCH),
  casesPerInput: BATCH.maxLength,
  check: (results) =>
    tellAmidGood(({ intake }) => {
      for (const [message, id] of results) intake.takeResult(message, id);
    }),
});

export const groupTarget = defineTarget({
  name: 'Celery groups',
  share: 30,
  covers: ['protocol/result-nodes', 'lineage/lineage', 'lineage/chords', 'lineage/pending-links'].map(
    (file) => `${FOLDER}/${file}.ts`,
  ),
  inputs: fc.array(fc.tuple(hostile(GROUPS), someId, fc.boolean()), BATCH),
  casesPerInput: BATCH.maxLength,
  check: (groups) =>
    tellAmidGood(({ intake }) => {
      for (const [message, id, isSize] of groups) {
        if (isSize) intake.takeChordSize(id, Number(message));
        else intake.takeGroup(message);
      }
    }),
});

const bodySeeds = WAITING.map((message) =>
  Buffer.from((JSON.parse(message) as { body: string }).body, 'base64').toString(),
);
const waiting = fc.oneof(
  { weight: 2, arbitrary: hostile(WAITING) },
  { weight: 2, arbitrary: enveloped(hostile(bodySeeds), WAITING) },
);

export const queueTarget = defineTarget({
  name: 'Celery queue messages',
  share: 20,
  covers: [
    'message-body',
    'message-parts',
    'queue-message',
    'signatures',
    'waiting-message',
    'message-intake',
  ].map((file) => `${FOLDER}/queues/${file}.ts`),
  inputs: fc.array(fc.tuple(waiting, text), BATCH),
  casesPerInput: BATCH.maxLength,
  check: (messages) =>
    tellAmidGood(({ queues, history }) => {
      for (const [raw, queue] of messages) {
        const { facts, tag } = takeWaiting(queues, raw, queue);
        expect(tag).not.toBe('');
        if (facts !== null)
          history.writer.recordTask({ ...facts, type: 'sent', time: null, origin: 'result' });
      }
    }),
});

export const takenTarget = defineTarget({
  name: 'Celery unacked messages',
  share: 15,
  covers: [`${FOLDER}/queues/queue-message.ts`, `${FOLDER}/brokers/redis/queues/bindings.ts`],
  inputs: fc.array(
    fc.tuple(
      fc.oneof(
        hostile(TAKEN),
        waiting.map((message) => `[${message},"",""]`),
      ),
      text,
      text,
    ),
    BATCH,
  ),
  casesPerInput: BATCH.maxLength,
  check: (messages) =>
    tellAmidGood(({ queues }) => {
      for (const [raw, tag, score] of messages) takeTaken(queues, raw, tag, score);
      const bindings = messages.flatMap(([, member]) => readBinding(member, '\u0006\u0016') ?? []);
      for (const [, key, other] of messages) boundQueue([...bindings, { pattern: other, queue: 'q' }], key);
    }),
});

const replyValues = parsed(REPLIES).map((reply) => {
  const { body } = reply as { body: string };
  return JSON.parse(Buffer.from(body, 'base64').toString()) as Record<string, unknown>;
});
const replies = fc.oneof(
  hostile(REPLIES),
  enveloped(
    fc.oneof(
      { weight: 9, arbitrary: fc.oneof(misfit(replyValues).map(pythonJson), bytes) },
      { weight: 1, arbitrary: longText(8_192) },
    ),
    REPLIES,
  ),
);

export const replyTarget = defineTarget({
  name: 'Celery control replies',
  share: 20,
  covers: ['reply', 'node-name', 'held-tasks', 'worker-facts', 'proof'].map(
    (file) => `${FOLDER}/control/${file}.ts`,
  ),
  inputs: fc.array(replies, BATCH),
  casesPerInput: BATCH.maxLength,
  check: (messages) =>
    tellAmidGood(({ history }) => {
      for (const message of messages) {
        const unwrapped = unwrapReply(message);
        const reply = unwrapped === null ? null : decodeReply(unwrapped, () => ['known@host']);
        if (reply === null || reply.worker === null) continue;
        const { value } = reply;
        expect(reply.worker).toMatch(/^[^\p{Cc}]{1,512}$/u);
        proofOf(value);
        const told = { stats: value, active_queues: value, registered: value };
        history.writer.recordWorker(workerFactsOf(reply.worker, told, 1_790_000_000_000));
        const { items, dropped } = heldItems(value);
        expect(dropped).toBeGreaterThanOrEqual(0);
        for (const item of items) history.writer.recordTask(startOf(item, 'w@a', undefined));
      }
    }),
});
