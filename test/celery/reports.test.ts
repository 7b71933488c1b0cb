import { describe, expect, it } from 'vitest';
import type { WaitingMessage } from '../../src/sources/celery/broker.ts';
import {
  readComponentsReport,
  readHealthReport,
  readQueuesReport,
  readSchedulesReport,
  readStatusReport,
  readWaitingReport,
  writeReport,
} from '../../src/sources/celery/published/reports.ts';
import { waitingReport } from '../../src/sources/celery/published/waiting-report.ts';
import { indexMessages } from '../../src/sources/celery/queues/waiting-index.ts';
import { createWaitingRows } from '../../src/sources/celery/queues/waiting-rows.ts';
import type { Waiting } from '../../src/sources/celery/queues/waiting-tasks.ts';

const READERS = {
  readStatusReport,
  readQueuesReport,
  readWaitingReport,
  readSchedulesReport,
  readComponentsReport,
  readHealthReport,
};

/** Texts that no instance of this version writes. */
const FOREIGN = [
  '',
  'null',
  '[]',
  '{"version":1',
  '{"version":1}',
  '{"version":2,"value":[]}',
  '{"version":1,"value":7}',
  '{"version":1,"value":[7]}',
  '{"version":1,"value":{"at":"now","tasks":[]}}',
];

function message(id: string, args: string): WaitingMessage {
  return {
    tag: id,
    part: 'later',
    takenAt: null,
    facts: { id, name: 'yard.add', args, eta: 9e12 },
    seenAt: 1,
    relations: [],
    bytes: 1,
  };
}

function reportOf(messages: readonly WaitingMessage[]) {
  const index = indexMessages(messages);
  const rows = createWaitingRows(Date.now);
  const waiting: Waiting = {
    asked() {},
    ready: async () => {},
    held: () => index,
    index: () => index,
    rows,
    revision: () => 1,
    nextEta: () => null,
  };
  const steps = waitingReport(waiting);
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return readWaitingReport(writeReport(step.value));
}

describe('reports of the instance that collects', () => {
  it.each(Object.entries(READERS))('%s reads nothing that this version has not written', (_, read) => {
    for (const text of FOREIGN) expect(read(text)).toBeNull();
  });

  it('have the times of schedules', () => {
    const times = { lastRunAt: new Date(1e12), nextRunAt: null };
    const row = { id: 'a', name: 'nightly', ...times };
    expect(readSchedulesReport(writeReport({ list: [row], error: null }))?.list).toEqual([row]);
  });

  it('have every waiting task of few', () => {
    const report = reportOf([message('a', '(1,)'), message('b', '(2,)')]);
    expect(report).toMatchObject({ isComplete: true, isRedacted: false });
    expect(report?.messages[0]).toMatchObject({ tag: 'a', facts: { id: 'a', args: '(1,)', eta: 9e12 } });
  });

  it('have the first of many waiting tasks, with the beginning of long texts', () => {
    const many = Array.from({ length: 1_500 }, (_, at) => message(`task-${at}`, '(1,)'));
    expect(reportOf(many)).toMatchObject({ isComplete: false });
    expect(reportOf(many)?.messages).toHaveLength(1_000);
    const long = reportOf([message('long', 'x'.repeat(5_000))])?.messages[0]?.facts;
    expect(long).toMatchObject({ args: 'x'.repeat(2_048), truncated: ['args'] });
    const large = Array.from({ length: 1_000 }, (_, at) => message(`task-${at}`, 'x'.repeat(5_000)));
    expect(writeReport(reportOf(large)).length).toBeLessThan(1_000_000);
  });
});
