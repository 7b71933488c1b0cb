/** The fields of a job of BullMQ, as Redis answers. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { createRedactor } from '../../../src/redact.ts';
import { asCount, asFields, asScored, asTexts } from '../../../src/redis/replies.ts';
import { createSerializer } from '../../../src/serialize.ts';
import { createQueueRef, splitJobKey, splitTaskId } from '../../../src/sources/bullmq/access/queue-ref.ts';
import { factsOf } from '../../../src/sources/bullmq/jobs/job-facts.ts';
import { fieldsToShow, knownJob, taskOf, tracesOf } from '../../../src/sources/bullmq/jobs/job-row.ts';
import { JOB_SETS } from '../../../src/sources/bullmq/jobs/job-sets.ts';
import { checkBody } from '../../helpers/openapi-check.ts';
import { anyValue, number } from '../inputs.ts';
import { defineTarget } from '../target.ts';
import { fieldText, TIME } from './bullmq.ts';

const files = (...names: string[]): string[] => names.map((name) => `sources/bullmq/${name}.ts`);
const serializer = createSerializer({ redactor: createRedactor() });

const reply = fc.oneof(
  { weight: 6, arbitrary: fc.array(fc.oneof(fieldText, fc.constant(null)), { minLength: 9, maxLength: 9 }) },
  { weight: 1, arbitrary: anyValue },
);

export const jobTarget = defineTarget({
  name: 'BullMQ job fields',
  share: 220,
  covers: [
    ...files('jobs/job-facts', 'jobs/job-row', 'jobs/job-sets', 'access/queue-ref'),
    'redis/replies.ts',
  ],
  inputs: fc.record({
    reply,
    set: fc.constantFrom(...JOB_SETS),
    score: fc.oneof(number, fc.constant(TIME * 4_096), fc.constant(null)),
    values: fc.tuple(fieldText, fieldText, fieldText),
    other: anyValue,
  }),
  check({ reply, set, score, values: [data, result, trace], other }) {
    for (const value of [reply, other]) {
      expect(asCount(value)).toBeGreaterThanOrEqual(0);
      asFields(value);
      asTexts(value);
      for (const scored of asScored(value)) expect(Number.isFinite(scored.score)).toBe(true);
    }
    const facts = factsOf(reply);
    if (facts === null) return;
    const key = splitJobKey(data, ['bull']);
    if (key !== null) expect(data.endsWith(`${key.prefix}:${key.queue}:${key.jobId}`)).toBe(true);
    splitTaskId(data);
    const queue = createQueueRef('q', 'bull', null as never);
    const entry = { queue, id: 'own', set, score: set.kind === 'sorted' ? score : null };
    const job = knownJob(entry, { facts, values: null, size: null });
    const text = (value: string) => ({ text: value, isCut: value.length % 2 === 0 });
    const values = {
      data: text(data),
      returnvalue: text(result),
      failedReason: text(result),
      stacktrace: text(trace),
    };
    const task = taskOf(job, { parentId: null, rootId: null }, values, TIME);
    checkBody('TaskBody', serializer.taskRow(task, 'fuzz'));
    expect([task.id, task.queue, fieldsToShow(job).length > 0]).toEqual(['q:own', 'q', true]);
    expect(tracesOf(values.stacktrace).every((line) => typeof line === 'string')).toBe(true);
  },
});
